"""Which lines of a text have changed."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

LONG = 2000
"""From so many lines on, those that come up again and again are no landmarks: looking at each of them would take long."""


class Lines(Struct, frozen=True):
    """The rows of a text against those that it had: `rows` says which one each was, None where it is new or has changed."""

    rows: list[int | None]
    differ: bool

    @classmethod
    def of(cls, now: Sequence[str], before: Sequence[str]) -> Lines:
        """Compare two texts; rows count from 1."""
        if now == before:
            return cls(list(range(1, len(now) + 1)), differ=False)
        start = _alike(now, before)
        end = min(_alike(now[::-1], before[::-1]), min(len(now), len(before)) - start)
        rows: list[int | None] = [None] * len(now)
        rows[:start] = range(1, start + 1)
        rows[len(now) - end :] = range(len(before) - end + 1, len(before) + 1)
        ours, theirs = now[start : len(now) - end], before[start : len(before) - end]
        for block in SequenceMatcher(None, theirs, ours, autojunk=len(ours) > LONG).get_matching_blocks():
            for number in range(block.size):
                rows[start + block.b + number] = start + block.a + number + 1
        return cls(rows, differ=True)

    def before(self, row: int) -> int | None:
        """Which row this one was."""
        return self.rows[row - 1] if 0 < row <= len(self.rows) else None

    def have_changed(self, rows: Iterable[int]) -> bool:
        """Whether one of the rows has changed."""
        return any(self.before(row) is None for row in rows)


def _alike(now: Sequence[str], before: Sequence[str]) -> int:
    """How many rows at the beginning of two texts are the same."""
    pairs = enumerate(zip(now, before, strict=False))
    return next((number for number, (one, other) in pairs if one != other), min(len(now), len(before)))
