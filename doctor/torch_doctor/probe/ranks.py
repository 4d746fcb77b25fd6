"""What the processes of a distributed run saw, as one trace: that of the first, which knows the others."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from torch_doctor.trace import End

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_doctor.probe.protocol import Reader

WRONG = ("exception", "fault", "asked", "stopped")


def joined(readers: Sequence[Reader], launcher: Reader) -> Reader:
    """The reader of the first process, whose trace has those of all as its `ranks`.

    What the launcher says of processes that ended without an error message is how they ended.
    """
    traces = tuple(reader.trace for reader in readers)
    for trace in traces:
        trace.ranks = traces
    for rank, status in launcher.failed.items():
        if rank < len(readers) and readers[rank].run.end.how == "killed":
            readers[rank].run.end = End(how="killed", status=status)
    if launcher.run.end.how == "asked":  # it started none
        readers[0].run.end, readers[0].run.asked = launcher.run.end, launcher.run.asked
    return readers[0]


def failed(readers: Sequence[Reader]) -> int:
    """The rank of the process that failed or ran out of time, the first where several did; 0 where none did.

    The others are ended by the launcher, or fail because one is missing.
    """
    wrong = [(reader.run.end.time, rank) for rank, reader in enumerate(readers) if _is_wrong(reader.run.end)]
    return min(wrong, default=(0.0, 0))[1]


def _is_wrong(end: End) -> bool:
    killed = end.how == "killed" and end.status not in (0, -signal.SIGTERM, -signal.SIGKILL)
    return killed or end.how in WRONG or (end.how == "exit" and end.status != 0)
