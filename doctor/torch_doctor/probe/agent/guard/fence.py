"""Has the kernel hold back what goes past Python: libraries that write by themselves, and commands.

Linux has Landlock for that from 5.13 on, where it is switched on: a process gives up rights, and so do all that it starts. Where
there is none, what other libraries write is theirs.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import sys

from . import real

# https://docs.kernel.org/userspace-api/landlock.html
CREATE, ADD, RESTRICT = 444, 445, 446  # system calls, by the same numbers on all machines
VERSION = 1  # asks `CREATE` for the version
BENEATH = 1  # a rule for what lies below a folder
NO_NEW_PRIVILEGES = 38
LEAST, TRUNCATES, CONNECTS, SIGNALS = 2, 3, 4, 6  # versions: links between folders, and what came later
WRITE, REMOVE, MAKE_FILE, REFER, TRUNCATE = 1 << 1, 1 << 5, 1 << 8, 1 << 13, 1 << 14
CHANGES = sum(1 << number for number in range(4, 14)) | WRITE  # also folders, links, sockets, pipes and devices
CONNECT = 1 << 1
ABSTRACT_SOCKETS, SIGNAL = 1, 2
DEVICES = (("/dev", WRITE | TRUNCATE), ("/proc", WRITE | TRUNCATE), ("/dev/shm", WRITE | TRUNCATE | REMOVE | MAKE_FILE))  # noqa: S108
UNREADY = ("/proc/driver/nvidia", "/dev/nvidia-uvm")  # a driver, and a device that a privileged command has yet to make


class _Handled(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32))


class Fence:
    """What this thread and all that it starts may still do: write below `scratch`, and to devices."""

    def __init__(self, scratch: str, *, alone: bool) -> None:
        """`alone`: no other process runs the script, with whom it would talk over TCP."""
        self._scratch = scratch
        self._alone = alone
        self.up = False

    def install(self) -> None:
        """Puts it up, for good, where the system can."""
        if sys.platform != "linux" or os.path.exists(UNREADY[0]) > os.path.exists(UNREADY[1]):
            return
        with contextlib.suppress(OSError, AttributeError), real.inside():
            self._install(ctypes.CDLL(None, use_errno=True))

    def held_back(self, error: BaseException | None) -> bool:
        """Whether a script may have failed on it."""
        return self.up and os.strerror(errno.EACCES) in str(error)

    def _install(self, kernel: ctypes.CDLL) -> None:
        version = kernel.syscall(CREATE, None, ctypes.c_size_t(0), VERSION)
        if version < LEAST:
            return
        files = CHANGES | (TRUNCATE if version >= TRUNCATES else 0)
        network = CONNECT if self._alone and version >= CONNECTS else 0
        handled = _Handled(files, network, ABSTRACT_SOCKETS | SIGNAL if version >= SIGNALS else 0)
        rules = kernel.syscall(CREATE, ctypes.byref(handled), ctypes.c_size_t(ctypes.sizeof(handled)), 0)
        if rules < 0:
            return
        try:
            for folder, allowed in ((self._scratch, files), *DEVICES):
                if not self._allow(kernel, rules, folder, allowed & files):
                    return
            kernel.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0)
            self.up = kernel.syscall(RESTRICT, rules, 0) == 0
        finally:
            os.close(rules)

    def _allow(self, kernel: ctypes.CDLL, rules: int, folder: str, allowed: int) -> bool:
        if not os.path.isdir(folder):
            return True
        place = os.open(folder, os.O_PATH | os.O_CLOEXEC)  # type: ignore[attr-defined,unused-ignore]
        try:
            return bool(kernel.syscall(ADD, rules, BENEATH, ctypes.byref(_Beneath(allowed, place)), 0) == 0)
        finally:
            os.close(place)
