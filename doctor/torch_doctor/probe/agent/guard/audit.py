"""The net under the patches: an audit hook that refuses what came past them."""

from __future__ import annotations

import os
import socket
import sys
from typing import TYPE_CHECKING, Any

from . import real
from .files import WRITING
from .native import database

if TYPE_CHECKING:
    from collections.abc import Callable

    from .overlay import Overlay
    from .refusal import Refusals

# Events about one path, by the number of paths that they name first.
CHANGES = {
    "os.remove": 1,
    "os.rmdir": 1,
    "os.mkdir": 1,
    "os.truncate": 1,
    "os.chmod": 1,
    "os.chown": 1,
    "os.utime": 1,
    "os.setxattr": 1,
    "os.removexattr": 1,
    "os.rename": 2,
    "os.link": 2,
    "os.symlink": 2,
    "shutil.rmtree": 0,  # what it does to each file is audited
}


# Functions of the C library that change files and processes.
OF_C = frozenset(
    "open open64 openat creat unlink unlinkat remove rename renameat rmdir mkdir truncate ftruncate symlink link chmod chown"
    " fopen fopen64 system popen fork vfork clone execv execve execvp posix_spawn posix_spawnp kill killpg connect chroot".split()
)


class Audit:
    """One hook for all events; `also` are the checks of other modules, by event."""

    def __init__(self, overlay: Overlay, refusals: Refusals, also: dict[str, Callable[..., None]]) -> None:
        self._overlay = overlay
        self._refusals = refusals
        self._checks: dict[str, Callable[..., None]] = {
            "open": self._open,
            "sqlite3.connect": self._database,
            "socket.bind": self._bound,
            "ctypes.dlsym": self._symbol,
            **also,
        }
        for event, paths in CHANGES.items():
            if paths:
                self._checks[event] = self._changed(event, paths)

    def install(self) -> None:
        """Adds the hook, which stays until the process ends."""
        checks, is_inside = self._checks, real.is_inside

        def hook(event: str, arguments: tuple[Any, ...]) -> None:
            check = checks.get(event)
            if check is not None and not is_inside():
                with real.inside():
                    check(*arguments)

        sys.addaudithook(hook)

    def _open(self, path: Any, _mode: Any, flags: int, *_: Any) -> None:
        if flags & WRITING and not isinstance(path, int):
            self._must_be_free(path, "writing to")

    def _changed(self, event: str, paths: int) -> Callable[..., None]:
        def check(*arguments: Any) -> None:
            for path in arguments[:paths]:
                self._must_be_free(real.path_of(path) if isinstance(path, int) else path, f"{event} of")

        return check

    def _database(self, path: Any, *_: Any) -> None:
        """What comes here was given another place, if it is a file."""
        if isinstance(path, (str, bytes, os.PathLike)) and (place := database(os.fsdecode(path))):
            self._must_be_free(place, "writing to")

    def _bound(self, sock: Any, address: Any) -> None:
        if sock.family == getattr(socket, "AF_UNIX", None) and (path := os.fsdecode(address)) and path[0] != "\0":
            self._must_be_free(path, "creating a socket at")

    def _symbol(self, library: Any, name: Any) -> None:
        """A function of the C library, for whom it is loaded by itself."""
        of_c = not getattr(library, "_name", "") or os.path.basename(str(library._name)).startswith("libc.")
        if of_c and name in OF_C:
            msg = f"`{name}` of the C library"
            raise self._refusals.refuse(msg)

    def _must_be_free(self, path: Any, doing: str) -> None:
        spelled = os.fsdecode(path)
        if not spelled:  # a descriptor of no file
            return
        whole = os.path.normpath(os.path.join(real.functions["getcwd"](), spelled))
        folder = os.path.realpath(os.path.dirname(whole))
        if not self._overlay.is_free(os.path.join(folder, os.path.basename(whole))):
            msg = f"{doing} {spelled}"
            raise self._refusals.refuse(msg)
