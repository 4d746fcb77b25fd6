"""Checkpoints that are read from files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace import Loaded, Saved
from torch_doctor_rules.judging.sites import first_per_site

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Trace


def read(trace: Trace) -> Iterator[Loaded]:
    """The calls that read a file, each place once; a copy through memory is no file."""
    written = {event.buffer for event in trace.of(Saved) if event.buffer}
    return first_per_site(event for event in trace.of(Loaded) if not event.module and event.buffer not in written)
