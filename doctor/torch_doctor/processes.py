"""How many processes the machine has room for."""

from __future__ import annotations

import os

WORTH = 6
"""Files for each process from which on it is worth its start."""


def cores() -> int:
    """The cores that we may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def jobs_for(files: int, asked: int) -> int:
    """How many processes examine so many files; `asked`: as somebody wants it, 0: as many as are worth it."""
    return max(1, min(asked or cores(), files if asked else files // WORTH))
