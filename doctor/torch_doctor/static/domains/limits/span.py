"""An interval with the values in it that are surely taken, and the precision of its numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from torch_doctor.trace.limits import Limits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from torch_doctor.static.values import Making

CLAMP, EPSILON, MASK, PAIR, ROUNDING = "clamp", "epsilon", "mask", "pair", "rounding"
"""Why a value is taken: a bound; a constant that rounds to it; zeros of a mask; equal operands; the precision."""
FAR, END = "far", "end"
"""Why a value is reached: a share of scores that lie far apart; the end of a function that stops gradients there."""
TEST, SINGLE, ROW = "test", "single", "row"
"""Why a derivative is infinite without that: a test comes after the operation; a deviation is that of one element; a mask leaves
out a complete row."""
_FORMATS: Final = {
    "float32": (24, -149, 3.4028234663852886e38),
    "float16": (11, -24, 65504.0),
    "bfloat16": (8, -133, 3.3895313892515355e38),
}
"""The binary digits of each dtype, the power of 2 that is its smallest number, and its largest number."""


class Attained(NamedTuple):
    """A value that some of the numbers have, why, and the record of the operation that gives it."""

    value: float
    why: str
    made: Making


class Span(Struct, frozen=True, eq=False):
    """What is known of the numbers of a tensor.

    `stops` are values at which no gradient goes on to what the numbers were computed of, such as the zeros of a ReLU.
    """

    low: float = -math.inf
    high: float = math.inf
    taken: tuple[Attained, ...] = ()
    stops: frozenset[float] = frozenset()
    whole: bool = False

    @property
    def constant(self) -> float | None:
        """The number that all numbers are; None where they differ, or nobody knows."""
        return self.low if self.low == self.high else None

    @property
    def positive(self) -> bool:
        """Whether no number is negative."""
        return self.low >= 0

    def at(self, value: float) -> Attained | None:
        """Why a value is taken; None where it is not surely taken, or no gradient goes through it."""
        if value in self.stops:
            return None
        return next((each for each in self.taken if each.value == value and each.why not in (FAR, END)), None)

    def reached(self, value: float) -> Attained | None:
        """Why some of the numbers are, or may become, a value; None where nothing shows it."""
        return next((each for each in self.taken if each.value == value), None)

    def limits(self, dtype: str) -> Limits:
        """The same as events have it."""
        taken = {each.value for each in self.taken if each.why != FAR}
        return Limits(self.low, self.high, tuple(sorted(taken)), self.whole, dtype)

    def only(self, kept: Iterable[str] = ()) -> Span:
        """The same interval, of which values are taken for these reasons only."""
        return replace(self, taken=tuple(each for each in self.taken if each.why in kept))

    def mapped(self, function: Callable[[float], float], *, falling: bool = False) -> Span:
        """What a function that rises, or falls, makes of each number."""
        ends = [_at(function, end) for end in (self.low, self.high)]
        low, high = ends[::-1] if falling else ends
        return Span(
            -math.inf if low is None else low,
            math.inf if high is None else high,
            self.through(function),
            self.stopping(function),
        )

    def through(self, function: Callable[[float], float]) -> tuple[Attained, ...]:
        """The values that are taken after a function of each number."""
        found = [(each, _at(function, each.value)) for each in self.taken]
        return tuple(each._replace(value=value) for each, value in found if value is not None)

    def stopping(self, function: Callable[[float], float]) -> frozenset[float]:
        """The values at which gradients stop, after a function of each number."""
        found = [_at(function, value) for value in self.stops]
        return frozenset(value for value in found if value is not None)

    def rounded(self, dtype: str) -> Span:
        """The same in the precision of a dtype."""
        if dtype not in _FORMATS:
            return self
        taken = tuple(each._replace(value=rounded(each.value, dtype)) for each in self.taken)
        return replace(self, low=rounded(self.low, dtype), high=rounded(self.high, dtype), taken=taken)


UNKNOWN: Final = Span()


def hull(spans: Iterable[Span]) -> Span:
    """The interval around several, in which each has what it takes."""
    each = list(spans)
    if not each:
        return UNKNOWN
    taken = tuple(one for span in each for one in span.taken)
    return Span(min(span.low for span in each), max(span.high for span in each), taken)


def rounded(value: float, dtype: str) -> float:
    """A number in the precision of a dtype; unchanged where that is not known, or has more."""
    if dtype not in _FORMATS or not math.isfinite(value) or value == 0:
        return value
    bits, smallest, largest = _FORMATS[dtype]
    quantum = 2.0 ** max(math.frexp(value)[1] - bits, smallest)
    found = round(value / quantum) * quantum
    return found if abs(found) <= largest else math.copysign(math.inf, found)


def _at(function: Callable[[float], float], value: float) -> float | None:
    """A function of a number; None where it has no value there."""
    try:
        found = function(value)
    except (ValueError, OverflowError, ZeroDivisionError):
        return None
    return None if math.isnan(found) else found
