"""Numbers of things, however many."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_BOUNDS = 3
"""A start, a stop and a step."""


def length(numbers: range) -> int:
    """How many numbers a range has: `len` fails where they are more than a machine can hold."""
    return max(0, -((numbers.start - numbers.stop) // numbers.step))


def steps(bounds: Sequence[float]) -> int | None:
    """How many numbers `arange` gives for a start, a stop and a step, which may have fractions; None where it fails."""
    if not 0 < len(bounds) <= _BOUNDS or 0 in bounds[2:]:
        return None
    start, stop = bounds[:2] if len(bounds) > 1 else (0, bounds[0])
    try:
        return max(0, math.ceil((stop - start) / (bounds[2] if len(bounds) == _BOUNDS else 1)))
    except (OverflowError, ValueError):  # of what is infinite, or no number
        return None
