"""Stretches of rows: what a slice with known bounds takes."""

from __future__ import annotations

from msgspec import Struct


class Stretch(Struct, frozen=True):
    """Samples from `start` up to, but not including, `stop`, as in a slice."""

    of: str = ""
    """A text that identifies what is sliced."""
    start: int | None = None
    """The first index; None for the start."""
    stop: int | None = None
    """The index after the last one; None for the end."""

    def meets(self, other: Stretch) -> bool:
        """Whether both surely have rows in common; neither is empty."""
        return self.of == other.of and _before(self.start, other.stop) and _before(other.start, self.stop)


def _before(start: int | None, stop: int | None) -> bool:
    """Whether a first row surely lies before an end."""
    if not start or stop is None:
        return True
    return (start < 0) == (stop < 0) and start < stop
