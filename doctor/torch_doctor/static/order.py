"""In which order files are run: each after those that import it, whatever order they were given in."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

from torch_doctor.static import program as p

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from torch_doctor.sources.source import SourceFile
    from torch_doctor.static.imports import Imports
    from torch_doctor.static.unit import Unit


def importers_first(files: Sequence[SourceFile], imports: Imports) -> list[SourceFile]:
    """The files, each after those of them that import it; those that import each other stand together; else by their paths.

    A function of a file is then entered by all who call it before anybody asks whether somebody does.
    """
    given = {file.path: file for file in sorted(files, key=attrgetter("path"))}
    if len(given) == 1:
        return list(given.values())
    imported = {path: tuple(_imported(imports, path, given)) for path in reversed(given)}
    ordered = [path for together in _components(imported) for path in sorted(together, reverse=True)]
    return [given[path] for path in reversed(ordered)]


def _imported(imports: Imports, path: Path, given: Mapping[Path, object]) -> Iterator[Path]:
    """Those of the given files that a file imports, wherever its imports stand."""
    unit = imports.unit(path)
    for module, level in _modules(unit) if unit is not None else ():
        found = imports.find(path, module, level)
        if found is not None and found != path and found in given:
            yield found


def _modules(unit: Unit) -> Iterator[tuple[str, int]]:
    """The modules that the imports of a file may mean, with their levels: a name that is taken from one may be another."""
    for node in unit.program.imports:
        if isinstance(node, p.Import):
            yield node.module, 0
            continue
        yield node.module, node.level
        for name, _ in node.names:
            yield f"{node.module}.{name}".lstrip("."), node.level


def _components(edges: Mapping[Path, Sequence[Path]]) -> Iterator[list[Path]]:
    """The strongly connected components of a graph, each after those that it leads to (Tarjan's algorithm)."""
    numbers: dict[Path, int] = {}
    lowest: dict[Path, int] = {}
    stack: list[Path] = []
    open_: set[Path] = set()
    for root in edges:
        if root in numbers:
            continue
        way = [(root, iter(edges[root]))]
        numbers[root] = lowest[root] = len(numbers)
        stack.append(root)
        open_.add(root)
        while way:
            path, left = way[-1]
            for other in left:
                if other not in numbers:
                    numbers[other] = lowest[other] = len(numbers)
                    stack.append(other)
                    open_.add(other)
                    way.append((other, iter(edges[other])))
                    break
                if other in open_:
                    lowest[path] = min(lowest[path], numbers[other])
            else:
                way.pop()
                if way:
                    above = way[-1][0]
                    lowest[above] = min(lowest[above], lowest[path])
                if lowest[path] == numbers[path]:
                    at = stack.index(path)
                    together = stack[at:]
                    del stack[at:]
                    open_.difference_update(together)
                    yield together
