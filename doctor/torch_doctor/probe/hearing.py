"""What was heard of a run: its lines, read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch_doctor.probe.ranks import joined

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch_doctor.probe.launch import Launched
    from torch_doctor.probe.protocol import Reader
    from torch_doctor.trace import Site


@dataclass(frozen=True, slots=True)
class Heard:
    """A run, and the reader of each process and of all of them."""

    launched: Launched
    readers: Sequence[Reader]
    reader: Reader


def heard(done: Launched, read: Callable[[Sequence[bytes]], Reader], expected: frozenset[Site]) -> Heard:
    """What a run said, with the forwards that are `expected` to go backward."""
    readers = [read(lines) for lines in done.ranks or [done.lines]]
    reader = joined(readers, read(done.lines)) if done.ranks else readers[0]
    for each in (*readers, reader):
        each.run.foreseen = expected
    return Heard(done, readers, reader)
