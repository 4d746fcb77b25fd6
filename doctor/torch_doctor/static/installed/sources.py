"""Reads the files of installed libraries, within a budget, and finds where a dotted name is defined."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct

from torch_doctor.pattern import pattern
from torch_doctor.static.installed.distributions import distribution

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MOST_FILES = 120
"""Files whose imports are looked at for one question."""
MOST_SEARCHED = 8_000_000
"""Bytes of a package that are searched for one definition."""
LARGEST = 400_000
"""Bytes of a file that is read: what is longer was not written by hand."""
MOST_KEPT = 60
"""Parsed files that are kept for the next question."""
_MOST_SEEN = 200
_FEW = 40  # star imports whose own star imports are followed
_TORCH = pattern(rb"^\s*(?:import|from)\s+torch\b", re.MULTILINE)


class Place(Struct, frozen=True):
    """Where a class or a function is defined: the file, the dotted name of its module, and the name in it."""

    path: Path
    module: str
    name: str


class Names(Struct, frozen=True):
    """What the top level of a file binds: definitions, what stands for something in another module, and star imports."""

    defined: frozenset[str]
    imported: dict[str, str]
    stars: tuple[str, ...]


Seen: TypeAlias = set[tuple[str, str]]


class LibrarySources:
    """The sources of the libraries in some folders."""

    def __init__(self, folders: tuple[Path, ...]) -> None:
        self.folders = folders
        self.packages: set[str] = set()  # those that were asked
        self.trees: dict[Path, Any] = {}  # the files that were parsed, each as a module of astroid
        self._raw: dict[Path, bytes] = {}
        self._names: dict[Path, Names | None] = {}
        self._looked: set[Path] = set()  # at the names of these files, for this question
        self._searched = 0

    def begin(self) -> None:
        """Another question: what it may read, and which packages it asks, begins anew."""
        self.packages = set()
        self._raw.clear()
        self._looked.clear()
        self._searched = 0
        if len(self.trees) > MOST_KEPT:
            self.trees.clear()

    def raw(self, path: Path) -> bytes:
        """The bytes of a file; none where it cannot be read, or is too large."""
        if path not in self._raw:
            try:
                self._raw[path] = path.read_bytes() if path.stat().st_size <= LARGEST else b""
            except OSError:
                self._raw[path] = b""
        return self._raw[path]

    def find(self, name: str, seen: Seen | None = None) -> Place | None:
        """Where the class or function of this dotted name is defined; None where that is not told, or the name is a module's."""
        parts = name.split(".")
        seen = seen if seen is not None else set()
        self.packages.add(parts[0])
        home = distribution(self.folders, parts[0])
        if home is None or len(parts) == 1:
            return None
        for length in range(len(parts) - 1, 0, -1):
            path = _module(home.folder.joinpath(*parts[:length]))
            if path is not None:
                rest = parts[length:]
                return self.bound(path, ".".join(parts[:length]), rest[0], seen) if len(rest) == 1 else None
        return None

    def bound(self, path: Path, module: str, name: str, seen: Seen) -> Place | None:
        """Where what a file binds to a name is defined."""
        if (module, name) in seen or len(seen) > _MOST_SEEN:
            return None
        seen.add((module, name))
        names = self.names(path, module)
        if names is None:
            return None
        if name in names.defined:
            return Place(path, module, name)
        if name in names.imported:
            return self.find(names.imported[name], seen)
        return self._searched_for(path, names, name, seen)

    def names(self, path: Path, module: str) -> Names | None:
        """What the top level of a file binds."""
        if path not in self._looked and len(self._looked) >= MOST_FILES:
            return None
        self._looked.add(path)
        if path not in self._names:
            self._names[path] = _bindings(self.raw(path), path, module)
        return self._names[path]

    def _searched_for(self, path: Path, names: Names, name: str, seen: Seen) -> Place | None:
        """The one definition among what a file imports by stars; of a package that imports while it runs, among all its files."""
        few = len(names.stars) <= _FEW
        places = list(dict.fromkeys(place for star in names.stars if (place := self._in_star(star, name, seen, few))))
        if not places and path.name == "__init__.py":
            places = list(self._defining(path.parent, ".".join(_dotted(path, self.folders)), name))
        return places[0] if len(places) == 1 else None

    def _in_star(self, module: str, name: str, seen: Seen, few: bool) -> Place | None:  # noqa: FBT001 - of one caller
        parts = module.split(".")
        home = distribution(self.folders, parts[0])
        path = _module(home.folder.joinpath(*parts)) if home is not None else None
        if path is None:
            return None
        raw = self.raw(path)
        if name.encode() in raw or (few and b"import *" in raw):
            return self.bound(path, module, name, seen)
        return None

    def _defining(self, folder: Path, module: str, name: str) -> Iterator[Place]:
        """Places below a folder that define a name, in files that know of torch; none where there is too much to search."""
        paths = sorted(folder.rglob("*.py"))
        self._searched += sum(path.stat().st_size for path in paths)
        for path in paths if self._searched <= MOST_SEARCHED else ():
            raw = self.raw(path)
            if _defines(raw, name) and _TORCH.search(raw):
                inner = path.relative_to(folder).with_suffix("").parts
                yield Place(path, ".".join((module, *(part for part in inner if part != "__init__"))), name)


def _module(path: Path) -> Path | None:
    for file in (path / "__init__.py", path.with_name(f"{path.name}.py")):
        if file.is_file():
            return file
    return None


def _dotted(path: Path, folders: tuple[Path, ...]) -> tuple[str, ...]:
    for folder in folders:
        if folder in path.parents:
            parts = path.relative_to(folder).with_suffix("").parts
            return parts[:-1] if parts[-1] == "__init__" else parts
    return ()


def _defines(raw: bytes, name: str) -> bool:
    return name.encode() in raw and bool(
        re.search(rb"^(?:class|def|async def)\s+" + re.escape(name.encode()) + rb"\b", raw, re.MULTILINE)
    )


def _bindings(raw: bytes, path: Path, module: str) -> Names | None:
    try:
        tree = ast.parse(raw)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    defined: set[str] = set()
    imported: dict[str, str] = {}
    stars: list[str] = []
    package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
    for node in _top_level(tree.body):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            defined.add(node.name)
            imported.pop(node.name, None)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join((*base, *((node.module,) if node.module else ())))
            for alias in node.names:
                if alias.name == "*":
                    stars.append(source)
                else:
                    imported[alias.asname or alias.name] = f"{source}.{alias.name}"
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
            _alias(node, defined, imported, module)
    return Names(frozenset(defined), imported, tuple(dict.fromkeys(stars)))


def _alias(node: ast.Assign, defined: set[str], imported: dict[str, str], module: str) -> None:
    """`Old = New`: another name for the same."""
    assert isinstance(node.value, ast.Name)
    meant = imported.get(node.value.id) or (f"{module}.{node.value.id}" if node.value.id in defined else None)
    for target in node.targets:
        if isinstance(target, ast.Name) and meant is not None:
            imported[target.id] = meant


def _top_level(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        if isinstance(node, (ast.If, ast.Try)):
            yield from _top_level([*node.body, *node.orelse])
            for handler in getattr(node, "handlers", ()):
                yield from _top_level(handler.body)
        else:
            yield node
