"""Executes once more what has broken parts, as they were meant, so that what they hide comes to light."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torch_doctor.trace import Broken, Trace

ROUNDS = 4
"""How often one thing is executed at most: what was hidden may be broken, too."""


def as_meant(
    execute: Callable[[frozenset[Broken]], Iterator[Trace]], meant: frozenset[Broken] = frozenset()
) -> Iterator[Trace]:
    """The traces of an execution, and of further ones in which what somebody found broken in them does what was meant.

    `meant` is what is known to be broken before.
    """
    for _ in range(ROUNDS):
        found: set[Broken] = set()
        for trace in execute(meant):
            trace.meant = meant
            yield trace
            found |= trace.broken
        if found <= meant:
            return
        meant |= found
