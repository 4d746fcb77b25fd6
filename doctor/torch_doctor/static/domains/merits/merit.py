"""What operators make of figures: which way the result gets better, and what it cannot get below or above."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

from torch_doctor.trace import HIGHER, LOWER

if TYPE_CHECKING:
    from collections.abc import Callable

ANSWER, TRUTH, GAP = "answer", "truth", "gap"
INFINITE: Final = math.inf
_FIGURES: Final = (LOWER, HIGHER)


class Merit(NamedTuple):
    """What a number is to the judgement of a model.

    `role` is "lower" or "higher" for a figure that is better then; "answer" for what a model gave, "truth" for what no model
    had a part in, "gap" for the difference of both. `low` and `high` are what a figure cannot get below or above.
    """

    role: str
    low: float = -INFINITE
    high: float = INFINITE

    @property
    def figure(self) -> bool:
        """Whether it says how good a model is."""
        return self.role in _FIGURES


SHARE: Final = Merit(HIGHER, 0.0, 1.0)
ERROR: Final = Merit(LOWER, 0.0)


def turned(merit: Merit | None) -> Merit | None:
    """Return what a change of sign makes of a merit."""
    if merit is None or not merit.figure:
        return merit
    return Merit(HIGHER if merit.role == LOWER else LOWER, -merit.high, -merit.low)


def transformed(name: str, merit: Merit) -> Merit | None:
    """Return what a function of one argument makes of a figure; None if it is unknown."""
    if name == "sum":
        return Merit(merit.role, 0.0 if merit.low >= 0 else -INFINITE)
    if name in ("log", "log10", "log2", "log1p"):
        return Merit(merit.role)
    if name == "exp":
        return Merit(merit.role, 1.0 if merit.low >= 0 else 0.0)
    return Merit(merit.role, max(merit.low, 0.0)) if name == "sqrt" else None


def _sum(left: Merit | None, right: Merit | None, one: float | None, other: float | None) -> Merit | None:
    if left is None or right is None:
        return None
    figures = [each for each in (left, right) if each.figure]
    if len(figures) == 2:
        return Merit(left.role, left.low + right.low, left.high + right.high) if left.role == right.role else None
    if not figures:
        return left if left.role == right.role and left.role != GAP else None
    shift = other if figures[0] is left else one
    return (
        Merit(figures[0].role) if shift is None else Merit(figures[0].role, *(each + shift for each in figures[0][1:]))
    )


def _difference(left: Merit | None, right: Merit | None, one: float | None, other: float | None) -> Merit | None:
    if left is None or right is None:
        return None
    if {left.role, right.role} == {ANSWER, TRUTH}:
        return None if one is not None or other is not None else Merit(GAP)
    if left.figure or right.figure:
        return _sum(left, turned(right), one, None if other is None else -other)
    return left if left.role == right.role == TRUTH else None


def _product(left: Merit | None, right: Merit | None, one: float | None, other: float | None) -> Merit | None:
    if left is None or right is None:
        return None
    if left.role == right.role == GAP:
        return ERROR
    figure, by, number = (left, right, other) if left.figure else (right, left, one)
    if not figure.figure:
        return left if left.role == right.role == TRUTH else None
    if number is not None:
        scaled = Merit(figure.role, *(_scaled(each, abs(number)) for each in figure[1:]))
        return turned(scaled) if number < 0 else scaled if number else None
    return Merit(figure.role, 0.0 if figure.low >= 0 else -INFINITE) if by.role == TRUTH else None


def _scaled(bound: float, by: float) -> float:
    return bound * by if bound else bound


def _quotient(left: Merit | None, right: Merit | None, _: float | None, by: float | None) -> Merit | None:
    if left is None or not left.figure:
        return left if left is not None and right is not None and left.role == right.role == TRUTH else None
    if by:
        return _product(left, Merit(TRUTH), None, 1 / by)
    if right is not None and right.figure and (left.role, right.role) != (HIGHER, HIGHER):
        return None
    return Merit(left.role, 0.0 if left.low >= 0 else -INFINITE)


def _power(left: Merit | None, _: Merit | None, __: float | None, by: float | None) -> Merit | None:
    if left is None or by is None:
        return None
    if left.role == GAP:
        return ERROR if by > 0 and by % 2 == 0 else None
    return Merit(left.role, 0.0) if left.figure and left.low >= 0 and by > 0 else None


def _hits(left: Merit | None, right: Merit | None, one: float | None, other: float | None) -> Merit | None:
    if left is None or right is None or one is not None or other is not None:
        return None
    return SHARE if {left.role, right.role} == {ANSWER, TRUTH} else None


def _misses(left: Merit | None, right: Merit | None, one: float | None, other: float | None) -> Merit | None:
    return Merit(LOWER, 0.0, 1.0) if _hits(left, right, one, other) else None


def _both(left: Merit | None, right: Merit | None, one: float | None, other: float | None) -> Merit | None:
    found = _hits(left, right, one, other)
    if found is not None or left is None or right is None:
        return found
    figures = [each for each in (left, right) if each.figure]
    return figures[0] if len(figures) == 1 and TRUTH in (left.role, right.role) else None


def _extreme(left: Merit | None, right: Merit | None, one: float | None, other: float | None) -> Merit | None:
    """`max(figure, 1e-8)`: of two figures, or of a figure and a number."""
    figures = [each for each in (left, right) if each is not None and each.figure]
    if len(figures) == 1 and (one is not None or other is not None):
        return Merit(figures[0].role)
    same = len(figures) == 2 and figures[0].role == figures[1].role
    return Merit(figures[0].role) if same else None


SIGNS: Final[dict[str, Callable[..., Merit | None]]] = {
    "+": _sum,
    "-": _difference,
    "*": _product,
    "/": _quotient,
    "**": _power,
    "==": _hits,
    "!=": _misses,
    "&": _both,
    "max": _extreme,
    "min": _extreme,
}
