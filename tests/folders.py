"""Working directories of tests, which may lie below somebody's project."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.sources.discovery import PROJECT_MARKERS

if TYPE_CHECKING:
    from pathlib import Path

REPOSITORY = ".git"


def keep_apart(folder: Path) -> None:
    """Makes a folder a repository of its own where it lies in a project: nothing of that project is read, or written."""
    if any((above / marker).exists() for above in folder.parents for marker in (*PROJECT_MARKERS, REPOSITORY)):
        (folder / REPOSITORY).mkdir()


def entries(folder: Path, pattern: str = "*") -> list[str]:
    """The names of all that a test left in its folder."""
    return sorted(path.name for path in folder.glob(pattern) if path.name != REPOSITORY)
