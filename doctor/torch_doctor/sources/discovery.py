"""From the paths on the command line to the files that are looked at."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from torch_doctor.sources.ignores import Ignores

SUFFIXES = (".py", ".pyw", ".ipynb")
PROJECT_MARKERS = ("pyproject.toml", "setup.py")


class Discovered(Struct):
    """What the paths lead to: files in order, the folders that were walked, and what could not be looked at, in sentences."""

    files: list[Path] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def discover(paths: Iterable[Path], ignores: Ignores) -> Discovered:
    """The files under absolute `paths`; a file that is named is taken whatever it is called."""
    found = Discovered()
    seen: set[str] = set()
    for path in paths:
        try:
            mode = path.stat().st_mode
        except OSError as error:
            found.errors.append(_missing(path, error))
            continue
        if stat.S_ISDIR(mode):
            files = list(walk(path, ignores, found.errors, visited=found.folders))
            if not files:
                found.warnings.append(f"no Python files or notebooks found under {display(path)}")
        elif stat.S_ISREG(mode):
            files = [path]
        else:
            found.errors.append(f"{display(path)} is neither a file nor a folder")
            continue
        for file in files:
            if (real := os.path.realpath(file)) not in seen:
                seen.add(real)
                found.files.append(file)
    return found


def _missing(path: Path, error: OSError) -> str:
    if os.path.islink(path):  # noqa: PTH114 - never raises
        return f"{display(path)} is a broken symbolic link"
    if isinstance(error, (FileNotFoundError, NotADirectoryError)):
        return f"{display(path)} does not exist"
    return f"{display(path)} cannot be read: {error.strerror}"


def walk(
    top: Path,
    ignores: Ignores,
    errors: list[str] | None = None,
    most_entries: int | None = None,
    visited: list[str] | None = None,
) -> Iterator[Path]:
    """Python files and notebooks below a folder, in order; links to folders are not followed. `visited` gets the folders."""

    def failed(error: OSError) -> None:
        if errors is not None:
            errors.append(f"{display(Path(error.filename))} cannot be read: {error.strerror}")

    entries = 0
    for directory, folders, names in os.walk(top, onerror=failed):
        entries += len(folders) + len(names)
        if visited is not None:
            visited.append(directory)
        if most_entries is not None and entries > most_entries:
            return
        folders[:] = sorted(name for name in folders if not ignores.skips(directory, name, folder=True))
        for name in sorted(names):
            if name.endswith(SUFFIXES) and not ignores.skips(directory, name, folder=False):
                path = Path(directory, name)
                if os.path.isfile(path):  # noqa: PTH113 - never raises
                    yield path


def display(path: Path) -> str:
    """A path as users see it: relative to the working directory, with forward slashes, and text in any case."""
    with contextlib.suppress(ValueError):  # another drive
        path = Path(os.path.relpath(path))
    return os.fsencode(path.as_posix()).decode("utf-8", "replace")


def common_directory(paths: Iterable[Path]) -> Path:
    """The deepest folder that holds all the absolute paths."""
    folders = [str(path if os.path.isdir(path) else path.parent) for path in paths]  # noqa: PTH112 - never raises
    try:
        return Path(os.path.commonpath(folders))
    except ValueError:  # several drives, or no path at all
        return Path.cwd()


def outer_root(paths: Iterable[Path]) -> Path:
    """Where the project of these paths begins, if no repository says so.

    The nearest folder around all of them with a pyproject.toml or a setup.py; else the working directory where it holds
    them all and is no home directory; else the folder that holds them.
    """
    common = common_directory(paths)
    for folder in (common, *common.parents):
        if any(os.path.isfile(folder / marker) for marker in PROJECT_MARKERS):  # noqa: PTH113
            return folder
    cwd = Path.cwd()
    at_home = cwd == Path(cwd.anchor) or cwd == Path(os.path.expanduser("~"))  # noqa: PTH111 - never raises
    return cwd if common.is_relative_to(cwd) and not at_home else common


def root_of(directory: Path, outer: Path) -> Path:
    """The project that a folder belongs to: its repository, else `outer`."""
    for folder in (directory, *directory.parents):
        if os.path.exists(folder / ".git"):  # noqa: PTH110
            return folder
    return outer if directory.is_relative_to(outer) else directory
