"""In which order files are run: each after those that import it, whatever order they were given in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.failure import Failure
from torch_doctor.static.importing import modules

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from torch_doctor.sources.project import Project
    from torch_doctor.static.imports import Imports


class FileOrder:
    """Files of a project, each after those of them that import it; those that import each other stand together.

    Else they stand by their paths. A function of a file is then entered by all who call it before anybody asks whether
    somebody does.
    """

    def __init__(self, given: Collection[Path], project: Project, imports: Imports) -> None:
        imported = _imported(sorted(given), project, imports) if len(given) > 1 else dict.fromkeys(given, ())
        together = [sorted(each) for each in reversed(list(_components(imported)))]
        members = frozenset(given)
        ordered = [[path for path in each if path in members] for each in together]
        self.files: list[Path] = [path for each in ordered for path in each]
        self._numbers = {path: number for number, path in enumerate(self.files)}
        self._above: dict[Path, int] = {}
        self._below: dict[Path, int] = {}
        self._close(together, imported)
        self._imported = imported

    def above(self, path: Path) -> list[Path]:
        """The files before this one that import it, directly or not."""
        return self._named(self._above[path])

    def below(self, path: Path) -> list[Path]:
        """The file itself, and those of the files that it imports, directly or not."""
        return self._named(self._below[path])

    def groups(self) -> list[list[Path]]:
        """The files in groups: none of a group imports one of another, directly or not, nor do they import the same files."""
        homes: dict[Path, Path] = {}

        def home(path: Path) -> Path:
            while (up := homes.setdefault(path, path)) != path:
                homes[path] = homes[up]
                path = up
            return path

        for path, others in self._imported.items():
            for other in others:
                homes[home(path)] = home(other)
        groups: dict[Path, list[Path]] = {}
        for path in self.files:
            groups.setdefault(home(path), []).append(path)
        return list(groups.values())

    def number(self, path: Path) -> int:
        """Where the file stands among the others, from 0."""
        return self._numbers[path]

    def last_above(self, path: Path, without: int) -> Path | None:
        """The last of the files before this one that import it, apart from some, whose numbers are bits."""
        left = self._above[path] & ~without
        return self.files[left.bit_length() - 1] if left else None

    def _named(self, numbers: int) -> list[Path]:
        found = []
        while numbers:
            lowest = numbers & -numbers
            found.append(self.files[lowest.bit_length() - 1])
            numbers ^= lowest
        return found

    def _close(self, together: Sequence[Sequence[Path]], imported: Mapping[Path, Sequence[Path]]) -> None:
        """Follow the imports of imports; sets of files are numbers with a bit for each, as there may be thousands."""
        bits = {path: 1 << number for path, number in self._numbers.items()}
        above: dict[Path, int] = {}
        for members in together:
            own, around = sum(bits.get(path, 0) for path in members), 0
            for path in members:
                around |= above.get(path, 0)
            for path in members:
                earlier = own & (bits[path] - 1) if path in bits else 0
                self._above[path] = (around | earlier) & ~bits.get(path, 0)
                for other in imported[path]:
                    above[other] = above.get(other, 0) | around | own
        below: dict[Path, int] = {}
        for members in reversed(together):
            under = sum(bits.get(path, 0) for path in members)
            for path in members:
                for other in imported[path]:
                    under |= below.get(other, 0)
            below.update(dict.fromkeys(members, under))
        self._below = below


def _imported(given: Sequence[Path], project: Project, imports: Imports) -> dict[Path, tuple[Path, ...]]:
    """What the files import of the project, and what that imports, wherever the imports stand."""
    found: dict[Path, tuple[Path, ...]] = {}
    waiting = list(reversed(given))
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        others: dict[Path, None] = {}
        try:
            for module, level in modules(project.code(path)):
                if (other := imports.find(path, module, level)) is not None and other != path:
                    others[other] = None
        except Exception as error:  # noqa: BLE001 - whatever it is, the other files keep their order
            imports.failures.append(Failure(project.shown_as(path), error))
        found[path] = tuple(others)
        waiting.extend(other for other in others if other.suffix == ".py")
    return {path: tuple(other for other in found[path] if other in found) for path in sorted(found, reverse=True)}


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
