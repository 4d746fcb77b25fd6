"""Tells which version of which distribution an installed package is, from the folders that installers leave beside it."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from pathlib import Path

_SUFFIX = ".dist-info"


class InstalledPackage(Struct, frozen=True):
    """A package as it was installed; no version where its files may change without one."""

    folder: Path
    version: str


@cache
def distribution(folders: tuple[Path, ...], package: str) -> InstalledPackage | None:
    """The package of this name in the first folder that has it; None where none has."""
    for folder in folders:
        if (folder / package).is_dir() or (folder / f"{package}.py").is_file():
            return InstalledPackage(folder, _version(folder, package))
    return None


def _version(folder: Path, package: str) -> str:
    """What the installer wrote of the package; empty where nobody did, or where it is a link to a working copy."""
    named: list[tuple[Path, str]] = []
    others: list[tuple[Path, str]] = []
    for info in _records(folder):
        name, _, version = info.name.removesuffix(_SUFFIX).partition("-")
        (named if _plain(name) == _plain(package) else others).append((info, version))
    for info, version in named + others:
        if (info, version) in named or _holds(info, package):
            return "" if (info / "direct_url.json").is_file() and _is_editable(info) else version
    return ""


@cache
def _records(folder: Path) -> tuple[Path, ...]:
    return tuple(sorted(folder.glob(f"*{_SUFFIX}")))


def _plain(name: str) -> str:
    return name.lower().replace("-", "_").replace(".", "_")


def _holds(info: Path, package: str) -> bool:
    """Whether the distribution installed this package."""
    try:
        with (info / "RECORD").open(encoding="utf-8", errors="replace") as record:
            return any(line.startswith((f"{package}/", f"{package}.py,")) for line in record)
    except OSError:
        return False


def _is_editable(info: Path) -> bool:
    try:
        return '"editable": true' in (info / "direct_url.json").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return True
