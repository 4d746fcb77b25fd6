"""Folders for what a script writes that are not there: version control keeps no empty ones, so they are made."""

from __future__ import annotations

import builtins
import functools
import io
import os
import tempfile
from typing import TYPE_CHECKING, Any

from .stand_in import StandIn

if TYPE_CHECKING:
    from collections.abc import Callable

    from .source import Sources
    from .told import Teller

WRITING = frozenset("wax")


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
                if not WRITING & set(mode) or not make_parent(file, self.sources, self.teller):
                    raise
                return opened(file, mode, *arguments, **keywords)

        built.open = text.open = opening

    def with_torch(self, torch: Any) -> None:
        """Patches `torch.save`, which opens its file by itself."""
        save = torch.save

        @functools.wraps(save)
        def saved(obj: Any, f: Any, *arguments: Any, **keywords: Any) -> Any:
            if isinstance(f, (str, os.PathLike)):
                make_parent(f, self.sources, self.teller)
            return save(obj, f, *arguments, **keywords)

        torch.save = saved


def _making(mkdir: Callable[..., None], stand_in: StandIn) -> Any:
    @functools.wraps(mkdir)
    def made(path: Any, *arguments: Any, **keywords: Any) -> None:
        try:
            mkdir(path, *arguments, **keywords)
        except FileNotFoundError:
            if not stand_in.sources.called_by_user() or not make_parent(path, stand_in.sources, stand_in.teller):
                raise
            mkdir(path, *arguments, **keywords)

    return made


def make_parent(path: Any, sources: Sources, teller: Teller) -> bool:
    """Makes the folder that a file or folder is to lie in; False where it is there already, or nobody of the user's asks."""
    if not isinstance(path, (str, os.PathLike)) or sources.innermost() is None:
        return False
    folder = os.path.dirname(os.fspath(path))
    if not folder or os.path.isdir(folder):
        return False
    os.makedirs(folder, exist_ok=True)
    if str(folder).startswith(os.path.dirname(tempfile.gettempdir())):
        return True  # the scratch folder: what the guard made of a path that was told already
    teller.stand_in(str(folder), "output folder not found", "a new one", [])
    return True
