"""Which files of a project do nothing on import but define and bind names: they can be executed when one is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.budget import uncounted
from torch_doctor.static.quiet.judging import Judging
from torch_doctor.static.quiet.names import Outlines
from torch_doctor.static.quiet.outline import Taken

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

LARGE = 20
"""Parts that a package imports at its top from which on they are executed only when they are needed."""


class _Loud:
    """A file that is not quiet, or imports one that is not; `below` are those that it imports, once somebody has asked."""

    __slots__ = ("below", "path", "quiet")

    def __init__(self, path: Path, quiet: bool) -> None:  # noqa: FBT001 - as it is
        self.path = path
        self.quiet = quiet
        self.below: list[_Loud] | None = None


class Quiet:
    """Reads the outlines of files, each once for all runs; `text` gives a file's text, `find` the file of a module.

    Seeds, defaults and flags of torch, NumPy and `random`, changes of another file's objects, and the construction of what
    takes part in training are done on import, in their order. A file that does nothing such is quiet.
    """

    def __init__(self, text: Callable[[Path], str], find: Callable[[Path, str, int], Path | None]) -> None:
        self._find = find
        self._names = Outlines(text, find)
        self._judging = Judging(self._names)
        self._own: dict[Path, bool] = {}
        self._below: dict[Path, tuple[Path, ...]] = {}
        self._large: dict[Path, bool] = {}
        self._imports: dict[Path, tuple[Path, ...]] = {}
        self._judged: set[Path] = set()  # with all that they import
        self._loud: dict[Path, _Loud] = {}  # those of them that are not quiet, or import one that is not

    def is_quiet(self, path: Path) -> bool:
        """Whether a file itself only defines and binds names on import."""
        if path not in self._own:
            with uncounted():
                self._own[path] = self._judging.top(path)
        return self._own[path]

    def loud(self, path: Path) -> tuple[Path, ...]:
        """The files that are not quiet among a file and those that it imports, in the order in which they are executed."""
        if path not in self._below:
            with uncounted():
                self._judge(path)
                self._below[path] = tuple(self._in_order(path)) if path in self._loud else ()
        return self._below[path]

    def happens(self, path: Path, module: str, level: int, name: str) -> bool:
        """Whether a file itself imports this, and not only for type checkers."""
        return Taken(module, level, name) in self._names.outline(path).imports

    def _judge(self, path: Path) -> None:
        """Judge a file and all that it imports: what one of them does, all do that import it."""
        importers: dict[Path, list[Path]] = {path: []}
        waiting = [path]
        loud: list[Path] = []
        while waiting:
            each = waiting.pop()
            if each in self._loud or not self.is_quiet(each):
                loud.append(each)
            for other in self._imported(each) if each not in self._judged else ():
                if other not in importers:
                    waiting.append(other)
                importers.setdefault(other, []).append(each)
        self._judged.update(importers)
        while loud:
            each = loud.pop()
            self._loud.setdefault(each, _Loud(each, self.is_quiet(each)))
            loud += [other for other in importers[each] if other not in self._loud]

    def _in_order(self, path: Path) -> Iterator[Path]:
        """The loud files below one, each behind those that it imports."""
        first = self._loud[path]
        entered = {first}
        around = [(first, iter(self._below_of(first)))]
        while around:
            each, imports = around[-1]
            for inner in imports:
                if inner not in entered:
                    entered.add(inner)
                    around.append((inner, iter(inner.below if inner.below is not None else self._below_of(inner))))
                    break
            else:
                around.pop()
                if not each.quiet:
                    yield each.path

    def _below_of(self, loud: _Loud) -> list[_Loud]:
        """Those of the files that one imports that are loud: all of them were judged with it."""
        if loud.below is None:
            loud.below = [self._loud[other] for other in self._imported(loud.path) if other in self._loud]
        return loud.below

    def _is_large(self, path: Path) -> bool:
        """Whether a file is the `__init__.py` of a package of many parts, or of one that has such a package in it."""
        if path.name != "__init__.py":
            return False
        if path not in self._large:
            parts = {(taken.module, taken.level) for taken in self._names.outline(path).imports if taken.level}
            self._large[path] = len(parts) >= LARGE
            found = (self._find(path, module, level) for module, level in parts)
            inner = [each for each in found if each is not None and path.parent in each.parents and each != path]
            self._large[path] |= any(map(self._is_large, inner))
        return self._large[path]

    def _imported(self, path: Path) -> tuple[Path, ...]:
        """The files that a file imports at its top level; the parts of a large package wait, whatever they do."""
        if path not in self._imports:
            self._imports[path] = tuple(self._found(path))
        return self._imports[path]

    def _found(self, path: Path) -> Iterator[Path]:
        large = self._is_large(path)
        for taken in self._names.outline(path).imports:
            if large and taken.level:
                continue
            home = self._find(path, taken.module, taken.level)
            if home is not None and home.suffix == ".py":
                yield home
            if taken.attribute not in ("", "*") and home is not None and home.name in ("__init__.py", home.stem):
                part = self._find(path, f"{taken.module}.{taken.attribute}".lstrip("."), taken.level)
                if part is not None and part.suffix == ".py":
                    yield part
