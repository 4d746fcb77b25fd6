"""Sums, products, quotients and powers of intervals."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from torch_doctor.static.domains.limits.span import END, EPSILON, FAR, MASK, ROUNDING, UNKNOWN, Span, rounded

if TYPE_CHECKING:
    from collections.abc import Callable

_SMALL = 1e-3


def added(left: Span, right: Span, dtype: str = "") -> Span:
    """The sum; where one is a constant, values are taken as before."""
    if left.constant is not None:
        left, right = right, left
    number = right.constant
    if number is None:
        return Span(_plus(left.low, right.low, -math.inf), _plus(left.high, right.high, math.inf))
    exact = rounded(number, dtype)
    found = left.mapped(lambda value: value + exact)
    swallowed = exact != number and 0 < abs(number - round(number)) < _SMALL and float(exact).is_integer()
    if swallowed:
        taken = tuple(each._replace(why=EPSILON) for each in found.taken)
        return Span(found.low, found.high, taken, found.stops)
    return found


def multiplied(left: Span, right: Span, graphs: tuple[bool, ...] = (True, True)) -> Span:
    """The product; `graphs` are whether each has a graph. It is 0 where one of them is."""
    if left.constant is not None:
        left, right = right, left
        graphs = graphs[::-1]
    if right.constant is not None:
        number = right.constant
        return left.mapped(_times(number), falling=number < 0) if number else Span(0.0, 0.0)
    corners = [_times(one)(other) for one in (left.low, left.high) for other in (right.low, right.high)]
    taken = [
        each
        for side in (left, right)
        for each in side.taken
        if each.value == 0 and each.why not in (END, FAR, ROUNDING)
    ]
    stops = frozenset((0.0,)) & left.stops if not graphs[1] and not right.taken and right.low > 0 else frozenset()
    masked = [each for each in taken if each.why == MASK]
    return Span(min(corners), max(corners), tuple((masked or taken)[:1]), stops)


def divided(left: Span, right: Span) -> Span:
    """The quotient; a numerator that is 0 makes it 0."""
    if right.constant:
        return multiplied(left, Span(1 / right.constant, 1 / right.constant))
    taken = tuple(each for each in left.taken if each.value == 0) if left.constant is None else ()
    return Span(0.0 if left.positive and right.positive else -math.inf, math.inf, taken)


def powered(base: Span, exponent: float) -> Span:
    """A power of a number that the script gives."""
    if exponent == 0:
        return Span(1.0, 1.0)

    def power(value: float) -> float:
        found = value**exponent
        return math.nan if isinstance(found, complex) else float(found)

    even = exponent % 2 == 0
    if base.positive or not even:
        if not base.positive and exponent != int(exponent):
            return Span(0.0, math.inf, base.through(power))
        return base.mapped(power, falling=exponent < 0) if base.positive or exponent > 0 else UNKNOWN
    highest = max(abs(base.low), abs(base.high)) ** exponent if exponent > 0 else math.inf
    lowest = 0.0 if base.high >= 0 else abs(base.high) ** exponent
    return Span(lowest, highest, base.through(power), base.stopping(power))


def _plus(one: float, other: float, otherwise: float) -> float:
    found = one + other
    return otherwise if math.isnan(found) else found


def _times(number: float) -> Callable[[float], float]:
    return lambda value: 0.0 if 0 in (value, number) else value * number
