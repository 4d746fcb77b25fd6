"""What stands for the code that scans: results of another version, or with another rule, are other results."""

from __future__ import annotations

import os
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from torch_doctor.cache.tree import digest
from torch_doctor.packages import spec_of

if TYPE_CHECKING:
    from collections.abc import Iterable

_OWN = "torch_doctor"


@cache
def of_code(names: frozenset[str]) -> bytes:
    """What stood for our own code and that of packages when this process first asked: it runs what was there then."""
    return of_packages(names)


def of_packages(names: Iterable[str]) -> bytes:
    """What stands for our own code and that of packages with rules.

    An installed package is told by the record of its files, with their hashes; one that is worked on, by the times at which its
    files were written.
    """
    parts = [sys.version, os.name]
    records: dict[Path, list[str]] = {}
    for name in sorted({_OWN, *names}):
        place = _place(name)
        if place is None:
            continue
        if place.parent not in records:
            records[place.parent] = _records(place.parent)
        line = f"{name}/"
        record = next((text for text in records[place.parent] if f"\n{line}" in f"\n{text}"), None)
        parts.append(record if record is not None else repr(_stamps(str(place))))
    return digest("\0".join(parts).encode("utf-8", "surrogatepass"))


def of_files(name: str) -> bytes:
    """What stands for the files of a package, however it was installed: their sizes, and the times at which they were written."""
    place = _place(name)
    return b"" if place is None else digest(repr(_stamps(str(place))).encode("utf-8", "surrogatepass"))


def _place(name: str) -> Path | None:
    """Where a package or a module lies, which need not be imported."""
    if name in sys.modules:
        file = getattr(sys.modules[name], "__file__", None)
    else:
        spec = spec_of(name)
        file = None if spec is None else spec.origin
    path = None if file is None else Path(file)
    return path.parent if path is not None and path.name == "__init__.py" else path


def _records(folder: Path) -> list[str]:
    """What installers wrote down of the packages in a folder that offer rules."""
    entries = folder.glob("*.dist-info/entry_points.txt")
    return [_text(entry.with_name("RECORD")) for entry in sorted(entries) if f"[{_OWN}." in _text(entry)]


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _stamps(place: str) -> list[tuple[str, int, int]]:
    """The files of a package, or a module, with their sizes and the times at which they were written, in order."""
    if not os.path.isdir(place):  # noqa: PTH112 - never raises
        return [_stamp(place)]
    found, folders = [], [place]
    while folders:
        for each in _entries(folders.pop()):
            if not each.is_dir():
                found.append(_stamp(each.path))
            elif each.name != "__pycache__":
                folders.append(each.path)
    return sorted(found)


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def _stamp(path: str) -> tuple[str, int, int]:
    """A file with its size and time; a link that leads nowhere, as editors leave them next to what they edit, has none."""
    try:
        seen = os.stat(path)  # noqa: PTH116 - hundreds of times; what a folder says of its entries may be old on Windows
    except OSError:
        return path, 0, 0
    return path, seen.st_mtime_ns, seen.st_size
