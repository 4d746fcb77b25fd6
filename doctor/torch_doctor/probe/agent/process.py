"""The process of a run: what it does before the script, and how it ends."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import signal
import sys
import threading
from os import _exit  # as it is before it is guarded
from typing import Any, NoReturn

DEATH_OF_PARENT = 1  # PR_SET_PDEATHSIG
SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER


def prepare() -> None:
    """Has the kernel end this process with the one that started it, and write no core file."""
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(DEATH_OF_PARENT, signal.SIGKILL)
        adopt()  # whatever leaves its parent stays below us


def detach() -> None:
    """Goes on as a process that nobody waits for."""
    if os.fork():
        _exit(0)
    os.setsid()


def adopt() -> None:
    """Has what our processes start, and leave behind, become ours, so that we can end it."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(SUBREAPER, 1)


def leave(status: int) -> NoReturn:
    """Ends the process as Python does, but for putting away every object: with torch that takes half a second."""
    threads: Any = threading
    for last in (threads._shutdown, atexit._run_exitfuncs, lambda: _flush("stdout"), lambda: _flush("stderr")):
        with contextlib.suppress(BaseException):  # the script may have closed or replaced it, or its time is over
            last()
    _exit(status)


def _flush(stream: str) -> None:
    getattr(sys, stream).flush()
