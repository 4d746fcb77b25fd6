"""What a scan saw of the disk: files by their contents, folders by their entries, and whether they are still so."""

from __future__ import annotations

import hashlib
import os
import time
from typing import TYPE_CHECKING

from msgspec import Struct, field

from torch_doctor.cache.storage import FOLDER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

RACY = 50_000_000
"""Nanoseconds before a scan in which a file may be written once more without another time stamp."""
_PASSING = frozenset((FOLDER, "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache"))
"""Folders that come and go without anybody's doing."""


class Stamp(Struct, array_like=True, frozen=True):
    """A file or folder at one time: when it changed, its size, and the digest of what is in it ("": it is not there)."""

    modified: int
    changed: int
    size: int
    digest: bytes


class Tree(Struct):
    """Files and folders by their absolute paths; `since` is when they began to be looked at."""

    files: dict[str, Stamp] = field(default_factory=dict)
    folders: dict[str, Stamp] = field(default_factory=dict)
    since: int = 0


def digest(raw: bytes) -> bytes:
    """What stands for some bytes."""
    return hashlib.blake2b(raw, digest_size=16).digest()


def listed(folder: str) -> list[str]:
    """The entries of a folder, in order, with a slash behind those that are folders; none where it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            return sorted(each.name + "/" * each.is_dir() for each in entries if each.name not in _PASSING)
    except OSError:
        return []


def look(files: Iterable[str], folders: Iterable[str], since: int, before: Tree | None = None) -> Tree:
    """The state of files and folders, some of which were read from the time `since` on.

    What has the stamp that it had `before` is not read again.
    """
    tree, old = Tree(since=since), before or Tree()
    for path in files:
        tree.files[path] = _stamp(path, old.files.get(path), old.since, _read)
    for path in folders:
        tree.folders[path] = _stamp(path, old.folders.get(path), old.since, _folder)
    return tree


def unchanged(tree: Tree) -> bool:
    """Whether all files and folders are as they were: by their stamps, else by what is in them."""
    kinds = ((tree.files, _read), (tree.folders, _folder))
    return all(
        _stamp(path, stamp, tree.since, contents).digest == stamp.digest
        for stamps, contents in kinds
        for path, stamp in stamps.items()
    )


def _stamp(path: str, old: Stamp | None, since: int, contents: Callable[[str], bytes]) -> Stamp:
    """The stamp of a path; `contents` are looked at where it is not the old one, or that was too fresh to tell anything."""
    try:
        seen = os.stat(path)  # noqa: PTH116 - thousands of times
    except OSError:
        return Stamp(0, 0, 0, b"")
    times = seen.st_mtime_ns, seen.st_ctime_ns, seen.st_size
    if old is not None and times == (old.modified, old.changed, old.size) and max(times[:2]) < since - RACY:
        return old
    return Stamp(*times, contents(path))


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - thousands of times
            return digest(file.read())
    except IsADirectoryError:
        return b"a folder"
    except OSError:
        return b""


def _folder(path: str) -> bytes:
    return digest("\0".join(listed(path)).encode("utf-8", "surrogatepass"))


def now() -> int:
    """The time, as stamps have it."""
    return time.time_ns()
