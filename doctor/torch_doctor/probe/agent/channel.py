"""Writes what was seen, as lines of JSON, to the pipe that the machine reads."""

from __future__ import annotations

import json
import os
import threading
from time import monotonic
from typing import Any

Value = Any
LARGEST = 16_384  # bytes that wait before they are written
LONGEST = 0.2  # seconds that they wait

_write, _getpid, _duplicate = os.write, os.getpid, os.dup  # the script may replace them
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False, default=str).encode


class Channel:
    """One pipe, written by the process that opened it and by no child of it.

    Lines wait in a buffer that is flushed when it is large or old, at the end of every pass of a loop that trains, and
    when the script ends.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = moved_up(descriptor)
        self._process = _getpid()
        self._lock = threading.Lock()
        self._waiting: list[str] = []
        self._size = 0
        self._since = monotonic()
        self._broken = False

    def write(self, **line: Value) -> None:
        """Adds one line."""
        self.write_text(_encode(line))

    def write_text(self, text: str) -> None:
        """Adds one line that is JSON already."""
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
            data = memoryview(("\n".join(waiting) + "\n").encode("utf-8", "surrogatepass"))
            try:
                while data:
                    data = data[_write(self._descriptor, data) :]
            except OSError:
                self._broken = True


def moved_up(descriptor: int) -> int:
    """A descriptor under a number that scripts which close what is open (`os.closerange(3, 256)`) do not think of."""
    try:
        import fcntl  # not on Windows
    except ImportError:
        return descriptor
    try:
        moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 300)
    except OSError:
        return descriptor
    os.close(descriptor)
    return moved
