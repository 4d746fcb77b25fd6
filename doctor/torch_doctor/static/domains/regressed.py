"""Targets of a regression that were padded, and predictions that are computed at the places of padding like at all others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.static.domains import padding
from torch_doctor.static.domains.axes.comparing import made_of
from torch_doctor.static.domains.domain import Written
from torch_doctor.static.domains.padding import Padded
from torch_doctor.static.tables import shapes as table
from torch_doctor.static.tables import words
from torch_doctor.static.values import Const, Plain, Value

if TYPE_CHECKING:
    from torch_doctor.static.domains.padding import Padding
    from torch_doctor.static.run import Run

_SCALES: Final = frozenset(words("+ - * / add sub mul div log log1p log2 log10 exp sqrt float double half to clamp"))
"""How targets are made that have the numbers of others in another range."""
_COMPUTING: Final = frozenset(
    f"nn.{name}"
    for name in (*table.LAYERS_RECURRENT, "Linear", "Conv1d", "TransformerEncoder", "TransformerEncoderLayer")
)
"""Layers that give numbers of their own at each place."""
_ACTIVATIONS: Final = frozenset(
    (
        *(f"nn.{name}" for name in table.LAYERS_SAME),
        *words("relu gelu silu tanh sigmoid leaky_relu elu softplus dropout clamp exp float double half to"),
    )
)
_SQUARES: Final = frozenset(words("** pow square abs"))
_DIFFERENCES: Final = frozenset(words("- sub subtract"))
_PAIR: Final = 2
_FAR: Final = 20
"""Steps that are followed back."""


def padded(run: Run, target: Value | None) -> Padding | None:
    """How a target was padded by `pad_sequence`, whose numbers may be in another range since; None for any other."""
    value = target
    for _ in range(_FAR):
        found = None if value is None else run.ask(Padded, value)
        if found is not None:
            return found if found.made.name == "pad_sequence" else None
        made = None if value is None else made_of(value)
        if made is None or made.name not in _SCALES or not made.args:
            return None
        tensors = [arg for arg in made.args if not isinstance(arg, (Const, Plain))]
        if len(tensors) != 1:
            return None
        value = tensors[0]
    return None


def is_everywhere(run: Run, scores: Value | None) -> bool:
    """Whether a layer computed these predictions at all places, and nothing changed those of padding since."""
    value = scores
    for _ in range(_FAR):
        made = None if value is None else made_of(value)
        if made is None or not made.args or made in run.of(Written).made:
            return False
        if made.name in _COMPUTING:
            return True
        if not (made.name in _ACTIVATIONS or padding.arranges(made)):
            return False
        value = made.args[0]
    return False


def compared(value: Value) -> tuple[Value, Value] | None:
    """The two tensors whose difference these errors are: squared, or without its sign; None for anything else."""
    made = made_of(value)
    difference = made_of(made.args[0]) if made is not None and made.name in _SQUARES and made.args else None
    if difference is None or difference.name not in _DIFFERENCES or len(difference.args) != _PAIR:
        return None
    return difference.args[0], difference.args[1]
