"""Tensors all of whose numbers are the same, as far as it shows how they were made."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Final

from torch_doctor.static.domains.domain import Domain
from torch_doctor.static.tables import words
from torch_doctor.static.values import Const, Making, ParameterValue, Tensor, Value

if TYPE_CHECKING:
    from torch_doctor.static.run import Run

FILLED: Final = dict.fromkeys(words("zeros zeros_like new_zeros zero_ zeros_"), 0.0) | dict.fromkeys(
    words("ones ones_like new_ones ones_"), 1.0
)
"""Functions and methods that fill a tensor with a number of their own."""
_GIVEN: Final = {"full": 1, "full_like": 1, "new_full": 2, "fill_": 1, "constant_": 1, "constant": 1}
"""Those that fill it with an argument, and where that is."""
_NAMES: Final = ("fill_value", "value", "val")
VIEWS: Final = frozenset(
    words(
        """
        T mT data t transpose permute unsqueeze squeeze view reshape expand expand_as repeat flatten contiguous clone detach
        requires_grad_ to type type_as float double half bfloat16 bool long int cuda cpu parameter
        """
    )
)
"""What gives the numbers of its tensor again, in another order, dtype or place."""


_COMPUTED: Final = {"*": operator.mul, "==": operator.eq, "!=": operator.ne}
"""What gives one number for all where both operands are one."""


def as_float(value: object) -> float | None:
    """A number as a float; None where it is none, or too large."""
    try:
        return float(value) if isinstance(value, (int, float)) else None
    except OverflowError:
        return None


class Filled(Domain[float | None]):
    """The number that all numbers of a value are; None where they differ, or nobody knows."""

    numbers = True

    def unknown(self) -> float | None:
        """None."""
        return None

    def given(self, value: Value) -> float | None:
        """A number of the script is what it is."""
        return as_float(value.value) if isinstance(value, Const) else None

    def read(self, made: Making) -> float | None:
        """What a function fills a tensor with, what a view is a view of, a product."""
        if made.name in FILLED:
            return FILLED[made.name]
        if made.name in _GIVEN:
            place = _GIVEN[made.name]
            named = next((made.keywords[name] for name in _NAMES if name in made.keywords), None)
            filling = made.args[place] if place < len(made.args) else named
            return None if filling is None else self.of(filling)
        if made.name in VIEWS:
            return self.of(made.args[0]) if made.args else None
        if made.name in _COMPUTED and len(made.args) == 2:
            one, other = map(self.of, made.args)
            return None if one is None or other is None else float(_COMPUTED[made.name](one, other))
        return None


def makings(value: Value | None) -> tuple[Making, ...]:
    """How a tensor that was made full of one number was made, and the views of it, the last one first."""
    found: list[Making] = []
    while isinstance(value, Tensor) and isinstance(value.meta, Making):
        found.append(value.meta)
        if value.meta.name in FILLED or value.meta.name in _GIVEN:
            return tuple(found)
        value = value.meta.args[0] if value.meta.args and value.meta.name in VIEWS else None
    return ()


def parameter_of(value: Value) -> ParameterValue | None:
    """The parameter whose numbers a value has, transposed or in another shape."""
    while isinstance(value, Tensor) and isinstance(made := value.meta, Making) and made.args and made.name in VIEWS:
        value = made.args[0]
    return value if isinstance(value, ParameterValue) else None


def computed_of(run: Run, value: Value) -> ParameterValue | None:
    """The parameter whose numbers a value has, or of which alone it was computed, with its graph."""
    flow = value.flow
    if flow.graph is not True:
        return None
    if (direct := parameter_of(value)) is not None:
        return direct
    behind = run.objects.get(*flow.modules) if len(flow.modules) == 1 and not flow.forwards else None
    return behind if isinstance(behind, ParameterValue) else None
