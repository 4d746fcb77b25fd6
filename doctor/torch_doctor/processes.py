"""How many processes the machine has room for."""

from __future__ import annotations

import os


def cores() -> int:
    """The cores that we may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
