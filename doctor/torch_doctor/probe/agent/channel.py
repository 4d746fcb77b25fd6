"""Writes what was seen, as lines of JSON in sealed packets, to the pipe that the machine reads."""

from __future__ import annotations

import contextlib
import json
import os
import select
import sys
import threading
from time import monotonic
from typing import Any

from .packets import Packer

Value = Any
LARGEST = 16_384  # bytes that wait before they are written
LONGEST = 0.2  # seconds that they wait
PATIENCE = 10.0  # seconds for somebody to read, where a write does not wait for that by itself
GONE = 75  # EX_TEMPFAIL
OURS = __name__.rpartition(".")[0]
PLACES = (300, 4000)  # numbers of descriptors of which scripts do not think that close what is open

_write, _getpid, _fstat, _exit = os.write, os.getpid, os.fstat, os._exit  # the script may replace them
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False, default=str).encode


class Channel:
    """One pipe, written by the process that opened it and by no child of it.

    Lines wait in a buffer that is flushed when it is large or old, at the end of every pass of a loop that trains, and
    when the script ends. The pipe has two descriptors, `places`, in case the script closes one of them or makes something
    else of it.
    """

    def __init__(self, descriptor: int, key: bytes = b"") -> None:
        self._is = _identity(descriptor)
        self.places = moved_up(descriptor, *PLACES)
        self._packer = Packer(key)
        self._process = _getpid()
        self._lock = threading.Lock()
        self._waiting: list[str] = []
        self._size = 0
        self._since = monotonic()
        self._broken = False

    def is_heard(self) -> bool:
        """Whether somebody can read what is written."""
        poll = select.poll()
        poll.register(self.places[0], 0)
        return not poll.poll(0)

    def write(self, **line: Value) -> None:
        """Adds one line, unless somebody else than the agent asks for it."""
        if is_ours():
            self.write_text(_encode(line))

    def write_text(self, text: str) -> None:
        """Adds one line that is JSON already."""
        if not is_ours():
            return
        with self._lock:
            self._waiting.append(text)
            self._size += len(text)
            due = self._size > LARGEST or monotonic() - self._since > LONGEST
        if due:
            self.flush()

    def flush(self) -> None:
        """Writes all that waits; nothing where this is another process or nobody reads any more."""
        with self._lock:
            waiting, self._waiting, self._size = self._waiting, [], 0
            self._since = monotonic()
            if not waiting or self._broken or _getpid() != self._process:
                return
            data = ("\n".join(waiting) + "\n").encode("utf-8", "surrogatepass")
            self._broken = not all(map(self._written, self._packer.packets(data)))

    def _written(self, packet: bytes) -> bool:
        """Whether a packet was written, through one of the descriptors that are still those of the pipe."""
        for place in self.places:
            if _identity(place) == self._is:
                try:
                    _write_all(place, packet)
                except BrokenPipeError:  # nobody is there for whom we run
                    _exit(GONE)
                except OSError:
                    continue
                return True
        return False


def is_ours() -> bool:
    """Whether who calls the caller of this belongs to the agent."""
    return str(sys._getframe(2).f_globals.get("__name__")).startswith(OURS)


def moved_up(descriptor: int, *places: int) -> tuple[int, ...]:
    """The descriptor under other numbers, each from one of `places` up, or as it is where it cannot have one."""
    try:
        import fcntl  # not on Windows
        import resource
    except ImportError:
        return (descriptor,)
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    moved: list[int] = []
    for place in places:
        with contextlib.suppress(OSError, ValueError):
            moved.append(fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, min(place, most - 16 if most > 0 else place)))
    if not moved:
        return (descriptor,)
    os.close(descriptor)
    return tuple(moved)


def _identity(descriptor: int) -> tuple[int, int] | None:
    """What a descriptor is of; None where it is closed."""
    try:
        found = _fstat(descriptor)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _write_all(descriptor: int, data: bytes) -> None:
    """Writes all, also where a script has had writes fail that would have to wait."""
    left = memoryview(data)
    limit = monotonic() + PATIENCE
    while left:
        try:
            left = left[_write(descriptor, left) :]
        except BlockingIOError:  # noqa: PERF203 - rare
            if monotonic() > limit:
                raise
            select.select([], [descriptor], [], LONGEST)
