"""The environment variables that a script inherits from us."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from torch_doctor.probe.processes import TOKEN

if TYPE_CHECKING:
    from pathlib import Path

THREADS = "OMP_NUM_THREADS"
YIELDING = {"OMP_WAIT_POLICY": "PASSIVE", "KMP_BLOCKTIME": "0"}
"""Has threads of OpenMP sleep where they wait for others: spinning takes the cores that these others need on a busy machine."""

HASHES = {"PYTHONHASHSEED": "0"}
"""Has sets of texts keep one order: what a script does with made-up data is the same in each run. It does not see that."""


def environment(scratch: Path, token: str, threads: int) -> dict[str, str]:
    """All of them; `threads` is how many compute, where others compute beside it."""
    temporary = str(scratch / "tmp")
    shared = {THREADS: str(threads)} if threads and THREADS not in os.environ else {}
    return (
        YIELDING
        | os.environ
        | shared
        | {
            TOKEN: token,
            "TMPDIR": temporary,
            "TEMP": temporary,
            "TMP": temporary,
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONUNBUFFERED": "1",
            "MPLBACKEND": "Agg",
            "MPLCONFIGDIR": temporary,
            "HYDRA_FULL_ERROR": "1",  # what failed, rather than how to ask for it
            "NUMBA_CACHE_DIR": temporary,  # it does not start where it may keep compiled code nowhere
        }
    )
