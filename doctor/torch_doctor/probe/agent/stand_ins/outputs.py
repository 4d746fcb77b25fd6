"""Folders for what a script writes that are not there: version control keeps no empty ones, so they are made."""

from __future__ import annotations

import builtins
import functools
import io
import os
import tempfile
from typing import TYPE_CHECKING, Any

from .demands import caught
from .stand_in import StandIn

if TYPE_CHECKING:
    from collections.abc import Callable


WRITING = frozenset("wax")
EXPECTED = frozenset({"FileNotFoundError", "OSError", "IOError", "RuntimeError", "Exception", "BaseException"})
"""Names of what a handler for a missing folder catches; `torch.save` raises a `RuntimeError`."""


class OutputFolders(StandIn):
    """Makes the folders that a script writes to."""

    replaces = "output folder not found"
    installed_after = ("Files",)

    def prepare(self) -> None:
        """Patches `os.mkdir` and `open` for writing; what is made lies in the scratch folder."""
        system: Any = os
        built: Any = builtins
        text: Any = io
        system.mkdir = _making(os.mkdir, self)
        opened = builtins.open

        @functools.wraps(opened)
        def opening(file: Any, mode: str = "r", *arguments: Any, **keywords: Any) -> Any:
            try:
                return opened(file, mode, *arguments, **keywords)
            except FileNotFoundError:
                if not WRITING & set(mode) or not make_parent(file, self):
                    raise
                return opened(file, mode, *arguments, **keywords)

        built.open = text.open = opening

    def with_torch(self, torch: Any) -> None:
        """Patches `torch.save` and `torch.jit.save`, which open their files by themselves."""
        for module in (torch, torch.jit):
            module.save = self._saving(module.save)

    def _saving(self, save: Any) -> Any:
        @functools.wraps(save)
        def saved(obj: Any, f: Any, *arguments: Any, **keywords: Any) -> Any:
            if isinstance(f, (str, os.PathLike)):
                make_parent(f, self, place=1)
            return save(obj, f, *arguments, **keywords)

        return saved


def _making(mkdir: Callable[..., None], stand_in: StandIn) -> Any:
    @functools.wraps(mkdir)
    def made(path: Any, *arguments: Any, **keywords: Any) -> None:
        try:
            mkdir(path, *arguments, **keywords)
        except FileNotFoundError:
            if not stand_in.sources.called_by_user() or not make_parent(path, stand_in, "folder"):
                raise
            mkdir(path, *arguments, **keywords)

    return made


def make_parent(path: Any, stand_in: StandIn, what: str = "file", place: int = 0) -> bool:
    """Create the folder that a file or folder is to lie in; False if it exists, or the user's code does not ask or waits for that.

    In the project that is a bug of the script, which is reported; a folder elsewhere may be another machine's. `place` is
    the position of the path among the arguments of the call, where that is the user's own.
    """
    if not isinstance(path, (str, os.PathLike)) or stand_in.sources.innermost() is None:
        return False
    written = os.fspath(path)
    folder = os.path.dirname(written.rstrip(os.sep) if what == "folder" else written)
    if not folder or os.path.isdir(folder) or _is_expected(stand_in):
        return False
    os.makedirs(folder, exist_ok=True)
    folder = _as_written(str(folder))
    if stand_in.sources.is_below(folder):
        stand_in.teller.folder(folder, what, place if stand_in.sources.called_by_user() else -1)
    else:
        stand_in.teller.stand_in(folder, stand_in.replaces, "a new one", [])
    return True


def _is_expected(stand_in: StandIn) -> bool:
    """Whether a handler of the user's waits for the error of a missing folder, as `open` or `torch.save` raise it."""
    frames = list(stand_in.sources.frames())
    return any(EXPECTED & each for frame in frames for each in caught(stand_in.sources, frame))


def _as_written(folder: str) -> str:
    """The path that the script means: the guard sends what torch opens by itself to a mirror in the scratch folder."""
    mirror = os.path.join(os.path.dirname(tempfile.gettempdir()), "overlay")
    if not folder.startswith(mirror + os.sep):
        return folder
    whole, here = folder[len(mirror) :], os.getcwd()
    return os.path.relpath(whole, here) if whole.startswith(here + os.sep) else whole
