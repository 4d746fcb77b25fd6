"""Folders for what runs write: gone when a run is over, and where we were killed, when the next one begins."""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import signal
import stat
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from torch_doctor.probe.processes import TOKEN, with_token

if TYPE_CHECKING:
    from collections.abc import Iterator

PREFIX = "torch-doctor-"
HELD = "held"  # a file that is locked while somebody needs the folder; it names what the processes of a run inherit
SHARED = "shared"  # a file with the names of the shared memory that the script made
MEMORY = Path("/dev/shm")  # noqa: S108 - where Linux has it
HEXADECIMAL = frozenset("0123456789abcdef")


class Scratch:
    """A folder that only its user can enter, until it is removed."""

    def __init__(self) -> None:
        temporary = tempfile.gettempdir()
        sweep(temporary)
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX)).resolve()
        self._lock = _locked(self.path)

    def remove(self) -> None:
        """Removes it, whatever was made of it."""
        _remove(self.path)
        if self._lock >= 0:
            os.close(self._lock)


@contextlib.contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder for all that the script writes; it is gone afterwards, whatever the script made of it."""
    scratch = Scratch()
    (scratch.path / "tmp").mkdir()
    try:
        yield scratch.path
    finally:
        scratch.remove()


def mark(folder: Path, token: str) -> None:
    """Notes what the processes inherit that use a folder."""
    (folder / HELD).write_text(token, encoding="ascii")


@functools.cache
def sweep(temporary: str) -> None:
    """Removes what others left who were killed, with their processes; what nobody holds any more was theirs."""
    with contextlib.suppress(OSError):
        for entry in os.scandir(temporary):
            if entry.name.startswith(PREFIX) and entry.is_dir(follow_symlinks=False):
                with contextlib.suppress(OSError, ValueError):
                    _sweep(Path(entry.path))


def forget_shared(folder: Path, processes: frozenset[int]) -> None:
    """Removes the shared memory that a run left: what its script named, and what torch made in one of the processes."""
    named: set[str] = set()
    with contextlib.suppress(OSError):
        named = {
            line.strip("/") for line in (folder / SHARED).read_text(encoding="utf-8", errors="replace").split("\n")
        }
    with contextlib.suppress(OSError):
        for name in os.listdir(MEMORY):  # noqa: PTH208 - it need not be there
            made_by = next((part for part in name.split("_") if part.isdecimal()), "0")
            ours = int(made_by) in processes and name.startswith(("torch_", "__KMP_"))
            if ours or name in named or name.removeprefix("sem.") in named:
                with contextlib.suppress(OSError):
                    (MEMORY / name).unlink()


def size(folder: Path) -> int:
    """The bytes that the files below a folder take on the disk."""
    found = 0
    for top, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                found += os.lstat(os.path.join(top, name)).st_blocks * 512  # noqa: PTH118 - there may be many
    return found


def _locked(folder: Path) -> int:
    """The descriptor of a lock, which is there at once when it can be seen; -1 where the system has none."""
    try:
        import fcntl  # noqa: PLC0415 - not on Windows
    except ImportError:
        return -1
    hidden = folder / f".{HELD}"
    lock = os.open(hidden, os.O_RDWR | os.O_CREAT, 0o600)
    with contextlib.suppress(OSError):  # a file system without locks
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        hidden.rename(folder / HELD)
    return lock


def _sweep(folder: Path) -> None:
    import fcntl  # noqa: PLC0415 - as above

    if folder.lstat().st_uid != os.getuid():
        return
    lock = os.open(folder / HELD, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises where it is held
        token = os.read(lock, 64).decode("ascii", "replace")
        if token and HEXADECIMAL.issuperset(token):
            for process in with_token(f"{TOKEN}={token}".encode()):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(process, signal.SIGKILL)
        forget_shared(folder, frozenset())
        _remove(folder)
    finally:
        os.close(lock)


def _remove(folder: Path) -> None:
    with contextlib.suppress(OSError):
        folder.chmod(stat.S_IRWXU)
    for top, folders, _ in os.walk(folder):
        for name in folders:
            path = Path(top, name)
            if not path.is_symlink():
                with contextlib.suppress(OSError):
                    path.chmod(stat.S_IRWXU)
    shutil.rmtree(folder, ignore_errors=True)
