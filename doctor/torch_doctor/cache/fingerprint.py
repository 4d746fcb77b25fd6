"""What stands for the code that scans: results of another version, or with another rule, are other results."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from torch_doctor.cache.tree import digest

if TYPE_CHECKING:
    from collections.abc import Iterable

_OWN = "torch_doctor"


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
        parts.append(record if record is not None else repr(sorted(_stamps(str(place)))))
    return digest("\0".join(parts).encode("utf-8", "surrogatepass"))


def _place(name: str) -> Path | None:
    """Where a package or a module that is imported lies."""
    file = getattr(sys.modules.get(name), "__file__", None)
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


def _stamps(place: str) -> Iterable[tuple[str, int, int]]:
    """The files of a package, or a module, with their sizes and the times at which they were written."""
    if os.path.isfile(place):  # noqa: PTH113 - never raises
        seen = os.stat(place)  # noqa: PTH116
        yield place, seen.st_mtime_ns, seen.st_size
        return
    for folder, folders, names in os.walk(place):
        folders[:] = [name for name in folders if name != "__pycache__"]
        for name in names:
            path = os.path.join(folder, name)  # noqa: PTH118 - hundreds of times
            seen = os.stat(path)  # noqa: PTH116
            yield path, seen.st_mtime_ns, seen.st_size
