"""Folders for what a script writes that are not there: version control keeps no empty ones, so they are made."""

from __future__ import annotations

import builtins
import functools
import io
import os
import tempfile
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from .source import Sources
    from .told import Teller

WRITING = frozenset("wax")


def prepare(sources: Sources, teller: Teller) -> None:
    """Patches `os.mkdir` and `open` for writing; what is made lies in the scratch folder."""
    system: Any = os
    built: Any = builtins
    text: Any = io
    system.mkdir = _making(os.mkdir, sources, teller)
    opened = builtins.open

    @functools.wraps(opened)
    def opening(file: Any, mode: str = "r", *arguments: Any, **keywords: Any) -> Any:
        try:
            return opened(file, mode, *arguments, **keywords)
        except FileNotFoundError:
            if not WRITING & set(mode) or not make_parent(file, sources, teller):
                raise
            return opened(file, mode, *arguments, **keywords)

    built.open = text.open = opening


def with_torch(torch: Any, sources: Sources, teller: Teller) -> None:
    """Patches `torch.save`, which opens its file by itself."""
    save = torch.save

    @functools.wraps(save)
    def saved(obj: Any, f: Any, *arguments: Any, **keywords: Any) -> Any:
        if isinstance(f, (str, os.PathLike)):
            make_parent(f, sources, teller)
        return save(obj, f, *arguments, **keywords)

    torch.save = saved


def _making(mkdir: Callable[..., None], sources: Sources, teller: Teller) -> Any:
    @functools.wraps(mkdir)
    def made(path: Any, *arguments: Any, **keywords: Any) -> None:
        try:
            mkdir(path, *arguments, **keywords)
        except FileNotFoundError:
            if not sources.called_by_user() or not make_parent(path, sources, teller):
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
    teller.stand_in(str(folder), "a folder for output that is not there", "a new one", [])
    return True
