"""The folders around files, and the files in them that say what belongs to a project and what it allows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from torch_doctor.cache import listed
from torch_doctor.sources.discovery import PROJECT_MARKERS
from torch_doctor.sources.relevance import may_pin

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_ROOTS = (*PROJECT_MARKERS, ".git")


def above(paths: Iterable[Path]) -> Iterator[str]:
    """The files, there or not, that tell to which project paths belong, and what git ignores above them."""
    for path in paths:
        for folder in (path, *path.parents):
            yield from (str(folder / name) for name in (*_ROOTS, ".gitignore", ".git/info/exclude"))
            if any((folder / name).exists() for name in _ROOTS):
                break


def settings_in(folder: str) -> Iterator[str]:
    """The files of a folder whose contents say what git ignores and which versions are allowed."""
    path = Path(folder)
    for name in listed(folder):
        if name == ".gitignore" or may_pin(path.name, name):
            yield str(path / name)
        elif name == ".git/":
            yield str(path / ".git/info/exclude")


def existing(path: str) -> str:
    """The nearest folder around a path that is there."""
    return next((str(folder) for folder in Path(path).parents if folder.is_dir()), path)
