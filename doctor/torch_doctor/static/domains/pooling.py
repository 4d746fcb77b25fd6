"""Means over the steps of padded sequences, whose dimensions were moved since."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.static.domains.axes.comparing import made_of
from torch_doctor.static.domains.axes.origins import At, before
from torch_doctor.static.domains.axes.sizes import Sizes
from torch_doctor.static.domains.padding import Padded
from torch_doctor.static.measuring import measured
from torch_doctor.static.measuring.arguments import argument
from torch_doctor.static.tables import shapes as table
from torch_doctor.static.tables import words
from torch_doctor.static.tables.methods import MOVES
from torch_doctor.static.values import Const, Tensor, Value

if TYPE_CHECKING:
    from torch_doctor.static.domains.padding import Padding
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Making

_EACH: Final = MOVES | frozenset(
    (
        *(f"nn.{name}" for name in table.LAYERS_SAME),
        *words(
            "relu relu_ gelu silu tanh sigmoid leaky_relu elu dropout contiguous clone detach pin_memory float type"
        ),
    )
)
"""How a tensor is made whose dimensions are those of the first argument."""
_FEATURES: Final = frozenset(
    (*(f"nn.{name}" for name in (*table.LAYERS_LAST, *table.LAYERS_RECURRENT, "TransformerEncoder")), "linear")
)
"""The same but for the last one, which has other features."""
_CHANNELS: Final = frozenset(("nn.Conv1d", "conv1d", "nn.BatchNorm1d"))
"""The same of the last dimension alone."""
_ADDED: Final = frozenset(words("+ - add sub"))
_FAR: Final = 40
"""Steps that are followed back."""


def along(run: Run, value: Value, dim: int) -> Padding | None:
    """The padding in a dimension that was the steps of padded sequences, and was moved at most; None for any other."""
    rank = len(measured(value).shape or ()) or None
    if dim >= 0 and rank is None:
        return None
    at: At | None = At(value, dim if dim < 0 or rank is None else dim - rank, rank)
    for _ in range(_FAR):
        made = None if at is None else made_of(at.value)
        if at is None or made is None or not made.args or not at.exact:
            return None
        if made.name == "pad_sequence":
            return _steps(run, made, at)
        at = _back(run, made, at)
    return None


def _steps(run: Run, made: Making, at: At) -> Padding | None:
    first = argument(made, 1, "batch_first") or Const(value=False)
    if at.rank is None or not isinstance(first, Const) or at.place + at.rank != int(bool(first.value)):
        return None
    return run.ask(Padded, at.value)


def _back(run: Run, made: Making, at: At) -> At | None:
    tensors = [each for each in made.args if isinstance(each, Tensor)]
    if made.name in _ADDED and tensors:
        return At(tensors[0], at.place, at.rank)
    kept = made.name in _EACH or (made.name in _FEATURES and at.place != -1)
    if kept or (made.name in _CHANNELS and at.place == -1):
        return At(made.args[0], at.place, at.rank)
    return before(made, at, lambda value: run.ask(Sizes, value))
