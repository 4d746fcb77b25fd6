"""Where the modules lie that the files of a project import."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from torch_doctor.static.tables.importing import DESCRIBED, LIBRARIES, NAMES_OF_PROJECTS

_ANY = "*.py"


def is_known(package: str) -> bool:
    """Whether a package is Python's own, or a library that is hardly ever a project's."""
    return package in sys.stdlib_module_names or package in LIBRARIES


class Search:
    """Looks for modules in the folders of a project, each of which is listed once.

    Paths are texts: thousands of places are looked at, a `Path` is slow to make and to compare, and few are there.
    """

    def __init__(self, root: Path) -> None:
        self._root = str(root)
        self._within = self._root.rstrip(os.sep) + os.sep
        self._entries: dict[str, frozenset[str]] = {}
        self._installed: dict[str, bool] = {}
        self._there: dict[str, bool] = {}
        self._packages: dict[str, str] = {}

    def module(self, importer: str, module: str, level: int, absent: set[str]) -> Path | None:
        """The file or folder of a module that a file imports, as far as it lies where Python looks without being told.

        There is none for what is a library's, wherever its sources lie. `absent` gets the places where the module was looked for
        and is not, see `is_there`.
        """
        parts = module.split(".") if module else []
        folder = os.path.dirname(importer)  # noqa: PTH120 - see above
        if self.package(folder) if level else parts[0] in LIBRARIES and parts[0] not in NAMES_OF_PROJECTS:
            return None
        if level:
            for _ in range(level - 1):
                folder = os.path.dirname(folder)  # noqa: PTH120
            return self.at(folder, parts, absent)
        known = is_known(parts[0])
        while True:
            if not known or self._is_more_than_a_folder(folder, parts[0], absent):
                found = self.at(folder, parts, absent)
                if found is not None and str(found) != importer:
                    return None if self._is_a_library_for(importer, _under(folder, parts[0])) else found
            if folder == self._root or not folder.startswith(self._within):
                break
            folder = os.path.dirname(folder)  # noqa: PTH120
        source = _under(self._root, "src")
        found = self.at(source, parts, absent)
        return None if found is not None and self._is_a_library_for(importer, _under(source, parts[0])) else found

    def package(self, folder: str) -> str:
        """The dotted name of a folder in the sources of a library that the tables describe; "" for any other."""
        if folder not in self._packages:
            outer, _, name = folder.rpartition(os.sep)
            found = ""
            if f"{folder}{os.sep}".startswith(self._within) and "__init__.py" in self._listed(folder):
                around = self.package(outer)
                found = f"{around}.{name}" if around else name if self._is_library(folder) else ""
            self._packages[folder] = found
        return self._packages[folder]

    def _is_library(self, folder: str) -> bool:
        """Whether the sources of a library that the tables describe lie in a folder."""
        mark = LIBRARIES.get(folder.rpartition(os.sep)[2])
        return mark is not None and mark in self._listed(folder)

    def _is_a_library_for(self, importer: str, package: str) -> bool:
        """Whether a package is a library that the tables describe, or lies where others are installed than the importer's own."""
        if self._is_library(package):
            return True
        folder, _, name = package.rpartition(os.sep)
        if importer.startswith((f"{package}{os.sep}", f"{package}.py")):
            return False
        is_described = name in DESCRIBED and DESCRIBED[name] in self._listed(package)
        return is_described or self._is_for_installed(folder)

    def _is_for_installed(self, folder: str) -> bool:
        """Whether packages are installed in a folder."""
        if folder not in self._installed:
            self._installed[folder] = any(each.endswith(".dist-info") for each in self._listed(folder))
        return self._installed[folder]

    def _listed(self, folder: str) -> frozenset[str]:
        entries = self._entries.get(folder)
        if entries is None:
            entries = self._entries[folder] = entries_of(folder)
        return entries

    def at(self, base: str, parts: list[str], absent: set[str]) -> Path | None:
        """The package, file or folder of a module whose outermost package lies in the folder `base`."""
        if parts and not self._may_hold(base, parts[0], absent):
            return None
        path = _under(base, *parts)
        package = _under(path, "__init__.py")
        if self._is_file(package, absent):
            return Path(package)
        if parts and self._is_file(f"{path}.py", absent):
            return Path(f"{path}.py")
        return Path(path) if parts and self._is_folder(path, absent) else None

    def _may_hold(self, folder: str, name: str, absent: set[str]) -> bool:
        """Whether a folder has an entry that may be a module of this name."""
        entries = self._listed(folder)
        there = name in entries or f"{name}.py" in entries
        if not there:
            absent.add(_under(folder, name))
        return there

    def _is_more_than_a_folder(self, folder: str, name: str, absent: set[str]) -> bool:
        """Whether Python takes it rather than what is installed: a folder without `__init__.py` is the last thing it looks for."""
        path = _under(folder, name)
        return self._may_hold(folder, name, absent) and (
            self._is_file(_under(path, "__init__.py"), absent) or self._is_file(f"{path}.py", absent)
        )

    def _is_file(self, name: str, absent: set[str]) -> bool:
        there = self._there.get(name)
        if there is None:
            # A name that is too long for the disk is no file.
            there = os.path.isfile(name) and name.startswith(self._within)  # noqa: PTH113 - never raises
            self._there[name] = there
        if not there:
            absent.add(name)
        return there

    def _is_folder(self, name: str, absent: set[str]) -> bool:
        there = self._there.get(name)
        if there is None:
            there = name.startswith(self._within) and any(entry.endswith(".py") for entry in entries_of(name))
            self._there[name] = there
        if not there:
            absent.add(_under(name, _ANY))
        return there


def entries_of(folder: str) -> frozenset[str]:
    """The names of what is in a folder; none where it cannot be listed."""
    try:
        return frozenset(os.listdir(folder))  # noqa: PTH208 - a name may be too long for the disk, see above
    except (OSError, ValueError):
        return frozenset()


def is_there(name: str) -> bool:
    """Whether something is there now in a place where a module was looked for in vain.

    The place is a file; or the name of a package or module, with nothing of that name in its folder; or, with `*.py` at its end,
    a folder in which no module was.
    """
    folder, _, last = name.rpartition(os.sep)
    if last == _ANY:
        return any(entry.endswith(".py") for entry in entries_of(folder))
    return os.path.exists(name) or os.path.exists(f"{name}.py")  # noqa: PTH110 - never raises


def _under(base: str, *parts: str) -> str:
    return os.path.join(base, *parts)  # noqa: PTH118 - see `Search`
