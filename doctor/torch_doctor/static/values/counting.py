"""Numbers of things, however many."""

from __future__ import annotations


def length(numbers: range) -> int:
    """How many numbers a range has: `len` fails where they are more than a machine can hold."""
    return max(0, -((numbers.start - numbers.stop) // numbers.step))
