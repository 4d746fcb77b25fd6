"""What is in a package, and what installed packages offer: found by names of files, for a scan asks both each time it starts.

`pkgutil` and `importlib.metadata` tell the same of more exotic places, and take longer than a small file is scanned.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from importlib import import_module
from importlib.machinery import PathFinder, all_suffixes
from typing import TYPE_CHECKING, Any

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.machinery import ModuleSpec
    from importlib.metadata import Distribution

_SUFFIXES = tuple(all_suffixes())
_INSTALLED = (".dist-info", ".egg-info")


class Offer(Struct, frozen=True):
    """What a package offers as an entry point: `package.module:name`."""

    value: str
    package: str = ""  # the name under which it is installed

    @property
    def module(self) -> str:
        """The module that has it."""
        return self.value.partition("[")[0].partition(":")[0].strip()

    def file(self) -> str | None:
        """The file of that module, found without importing anything; None where there is none."""
        first, *rest = self.module.split(".")
        spec = spec_of(first)
        if spec is None:
            return None
        if not rest and spec.submodule_search_locations is None:
            return spec.origin
        for folder in spec.submodule_search_locations or ():
            place = os.path.join(folder, *rest)  # noqa: PTH118 - as cheap as it gets
            for path in (f"{place}.py", os.path.join(place, "__init__.py")):  # noqa: PTH118
                if os.path.isfile(path):  # noqa: PTH113
                    return path
        return None

    def load(self) -> Any:  # noqa: ANN401 - it can be anything
        """The thing itself, its module imported."""
        thing: Any = import_module(self.module)
        for name in filter(None, self.value.partition("[")[0].partition(":")[2].strip().split(".")):
            thing = getattr(thing, name)
        return thing


def spec_of(name: str) -> ModuleSpec | None:
    """What is known of a package or module that is in no other one, found without importing it; None where it is not there."""
    found = (finder.find_spec(name, None) for finder in sys.meta_path if hasattr(finder, "find_spec"))
    return next((each for each in found if each is not None), None)


def modules(package: str) -> Iterator[str]:
    """The names of all modules in a package and in those below it, each package before what is in it."""
    for folder in import_module(package).__path__:
        yield from _below(folder, package)


def _below(folder: str, package: str) -> Iterator[str]:
    for each in sorted(os.scandir(folder), key=lambda each: each.name):
        name = f"{package}.{each.name.partition('.')[0]}"
        if each.is_dir():
            if os.path.isfile(f"{each.path}/__init__.py"):  # noqa: PTH113 - as cheap as it gets
                yield name
                yield from _below(each.path, name)
        elif each.name.endswith(_SUFFIXES) and not each.name.startswith("__init__."):
            yield name


def offers(group: str) -> list[Offer]:
    """What installed packages offer under a group of entry points; of a package that is there twice, the first counts."""
    if _elsewhere():
        from importlib.metadata import entry_points  # noqa: PLC0415 - slow to import

        return [Offer(each.value, _named(each.dist)) for each in entry_points(group=group)]
    return [Offer(value, package) for package, text in _offering(tuple(sys.path)) for value in _values(text, group)]


def stamps(group: str) -> list[tuple[str, str | None, int, int]]:
    """What stands for the files that are offered under a group: value, path, size and time of each."""
    found = []
    for offer in offers(group):
        path = offer.file()
        seen = None if path is None else os.stat(path)  # noqa: PTH116 - as cheap as it gets
        found.append((offer.value, path, seen.st_size if seen else 0, seen.st_mtime_ns if seen else 0))
    return found


@cache
def _offering(path: tuple[str, ...]) -> list[tuple[str, str]]:
    """The packages in these folders that offer anything, each with the text of its entry points."""
    found: dict[str, str] = {}
    for folder in path:
        for name, text in _installed(folder or "."):
            found.setdefault(name, text)
    return [(name.replace("_", "-"), text) for name, text in found.items() if text]


def _named(package: Distribution | None) -> str:
    """The name of an installed package, empty where a half-removed one has no metadata any more."""
    try:
        return package.name if package else ""
    except (OSError, TypeError, KeyError):  # what a missing METADATA raises depends on the version and on who reads it
        return ""


def _elsewhere() -> bool:
    """Whether packages may be installed that are no folders: in an archive, or wherever somebody's finder looks."""
    finders = (finder for finder in sys.meta_path if finder is not PathFinder)
    return any(hasattr(finder, "find_distributions") for finder in finders) or any(map(os.path.isfile, sys.path))


def _installed(folder: str) -> Iterator[tuple[str, str]]:
    """The packages in a folder, by their normalised names, each with the text of its entry points."""
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(_INSTALLED))  # noqa: PTH208 - names suffice
    except OSError:
        return
    for name in names:
        text = ""
        try:
            with open(f"{folder}/{name}/entry_points.txt", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
                text = file.read()
        except OSError:  # most packages have none
            pass
        stem = name.rpartition(".")[0].partition("-")[0]
        yield stem.lower().replace("-", "_").replace(".", "_"), text


def _values(text: str, group: str) -> Iterator[str]:
    """What a text of entry points has in one group: the right sides of its lines."""
    section = ""
    for line in map(str.strip, text.splitlines() if group in text else ()):
        if line.startswith("["):
            section = line.strip("[]").strip()
        elif section == group and "=" in line and not line.startswith(("#", ";")):
            yield line.partition("=")[2].strip()
