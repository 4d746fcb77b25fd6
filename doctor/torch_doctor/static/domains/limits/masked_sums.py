"""Sums over dimensions along which a mask does not change: where it is 0, so is the sum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.static.domains.axes.comparing import made_of
from torch_doctor.static.domains.limits.span import MASK, Attained
from torch_doctor.static.measuring import measured
from torch_doctor.static.measuring.arguments import argument
from torch_doctor.static.tables import words
from torch_doctor.static.values import Const

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch_doctor.static.domains.limits.span import Span
    from torch_doctor.static.values import Making, Value

_SUMS: Final = frozenset(words("sum mean"))
_PRODUCTS: Final = frozenset(words("* mul multiply"))
_KEEPING: Final = frozenset(words("** pow square abs absolute"))
"""What leaves zeros what they are, if its exponent is a positive number."""
_FARTHEST: Final = 6


def masked_sum(of: Callable[[Value], Span], made: Making, rank: int | None) -> Attained | None:
    """The zeros of a mask that a sum has, too; None where a mask may leave something of what is summed."""
    dim = argument(made, 1, "dim")
    number = dim.value if isinstance(dim, Const) else None
    if made.name not in _SUMS or not isinstance(number, int) or isinstance(number, bool):
        return None
    place = number if number < 0 else number - (rank or 0)
    if place >= 0:
        return None
    return _zeros(of, made.args[0], place, _FARTHEST)


def _zeros(of: Callable[[Value], Span], value: Value, place: int, farthest: int) -> Attained | None:
    """The zeros of a factor that is the same along the dimension at a place, counted from the end."""
    made = made_of(value)
    if made is None or not made.args or not farthest:
        return None
    if made.name in _KEEPING:
        exponent = made.args[1] if len(made.args) > 1 else Const(1)
        kept = isinstance(exponent, Const) and isinstance(exponent.value, (int, float)) and exponent.value > 0
        return _zeros(of, made.args[0], place, farthest - 1) if kept else None
    if made.name not in _PRODUCTS:
        return None
    for factor in made.args[:2]:
        found, shape = of(factor).at(0.0), measured(factor).shape
        if found is not None and found.why == MASK and shape is not None and shape[place:][:1] == (1,):
            return found
    return next((each for factor in made.args[:2] if (each := _zeros(of, factor, place, farthest - 1))), None)
