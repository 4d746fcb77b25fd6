"""Stretches of rows: what a slice with known bounds takes."""

from __future__ import annotations

from msgspec import Struct


class Stretch(Struct, frozen=True):
    """Rows from `start` on and before `stop`, as in a slice, of something that has a name of its own in the trace."""

    of: str = ""
    start: int | None = None
    stop: int | None = None

    def meets(self, other: Stretch) -> bool:
        """Whether both surely have rows in common; neither is empty."""
        return self.of == other.of and _before(self.start, other.stop) and _before(other.start, self.stop)


def _before(start: int | None, stop: int | None) -> bool:
    """Whether a first row surely lies before an end."""
    if not start or stop is None:
        return True
    return (start < 0) == (stop < 0) and start < stop
