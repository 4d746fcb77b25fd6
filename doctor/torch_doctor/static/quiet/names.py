"""Where the names of files are defined, as far as their outlines tell."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torch_doctor.pattern import pattern
from torch_doctor.static.quiet.outline import Assigned, Definition, Outline, root

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from typing import TypeAlias

    Place: TypeAlias = tuple[Path, str]

_HEAD = pattern(r"class\s+\w+\s*\(([^)]*)\)")
_NAME = pattern(r"\b[A-Za-z_]\w*")
_HOOKS = pattern(r"def __init_subclass__|def __prepare__|def mro\(|\(type\)|metaclass")
"""What a class has that is told of those derived from it, or a metaclass."""
_COMPUTES = pattern(r"property\b|def __get(?:attr|attribute)?__")
"""What a class has whose attributes are computed when they are read."""
_DEPTH = 6
"""Files that take a name of each other, up to which they are followed."""


class Outlines:
    """Reads the outlines of files, each once; `text` gives a file's text, `find` the file of a module."""

    def __init__(self, text: Callable[[Path], str], find: Callable[[Path, str, int], Path | None]) -> None:
        self._text = text
        self._find = find
        self._outlines: dict[Path, Outline] = {}

    def outline(self, path: Path) -> Outline:
        """The outline of a file; an empty one where it cannot be parsed: nothing of it is executed."""
        if path not in self._outlines:
            try:
                self._outlines[path] = Outline(self._text(path) if path.suffix == ".py" else "")
            except (SyntaxError, ValueError, RecursionError):
                self._outlines[path] = Outline("")
        return self._outlines[path]

    def lookup(self, path: Path, name: str, depth: int = _DEPTH) -> Place | str | None:
        """Where a global is defined: a file with a name in it, or with "" for the file itself; or the library's name for it."""
        outline = self.outline(path)
        bound = outline.names.get(name)
        if isinstance(bound, (Definition, Assigned)):
            return path, name
        if not depth:
            return None
        if bound is None:
            return self._from_star(path, outline, name, depth)
        home = self._find(path, bound.module, bound.level)
        if home is None:
            dotted = ".".join(filter(None, (bound.module, bound.attribute)))
            return None if bound.level else dotted
        if not bound.attribute:
            return home, ""
        if home.suffix == ".py" and home != path:
            inner = self.lookup(home, bound.attribute, depth - 1)
            if inner is not None:
                return inner
        part = self._find(path, f"{bound.module}.{bound.attribute}".lstrip("."), bound.level)
        return None if part is None else (part, "")

    def is_made(self, path: Path, value: ast.expr | None) -> bool:
        """Whether a variable of a file may be an object of a class of the project, whose methods may do anything."""
        begin, _ = root(value.func) if isinstance(value, ast.Call) else (value, ())
        if not isinstance(begin, ast.Name):
            return not isinstance(value, (ast.Constant, ast.Dict, ast.List, ast.Set, ast.Tuple))
        return isinstance(self.lookup(path, begin.id), tuple)

    def is_alias(self, path: Path, value: ast.expr | None) -> bool:
        """Whether a variable of a file may be an object that others have, too."""
        if isinstance(value, ast.Call):
            begin, rest = root(value.func)
            if not isinstance(begin, ast.Name):
                return True
            found = self.lookup(path, begin.id)
            if isinstance(found, tuple) and found[1] and not rest:
                bound = self.outline(found[0]).names.get(found[1])
                return not (isinstance(bound, Definition) and bound.text.startswith("class"))
            return isinstance(found, tuple)
        return isinstance(value, (ast.Name, ast.Attribute, ast.Subscript)) or value is None

    def is_callable(self, place: Place) -> bool:
        """Whether what a file defines under a name is a function or a class."""
        return bool(place[1]) and isinstance(self.outline(place[0]).names.get(place[1]), Definition)

    def is_computed(self, path: Path, node: ast.AST) -> bool:
        """Whether an attribute may be computed by code of the project when it is read."""
        if not isinstance(node, ast.Attribute):
            return False
        made: list[ast.expr | None] = [node.value]
        if isinstance(node.value, ast.Name):
            bound = self.outline(path).names.get(node.value.id)
            made = bound.values if isinstance(bound, Assigned) else []
        classes = (each.func.id for each in made if isinstance(each, ast.Call) and isinstance(each.func, ast.Name))
        return any(_COMPUTES.search(text) for name in classes for text in self._texts(path, name))

    def is_told_of_heirs(self, path: Path, node: ast.ClassDef) -> bool:
        """Whether code of the project is executed when a class is defined, by its bases, its metaclass or its attributes."""
        names = [root(each)[0] for each in (*node.bases, *(each.value for each in node.keywords))]
        bases = [text for each in names if isinstance(each, ast.Name) for text in self._texts(path, each.id)]
        if any(_HOOKS.search(text) for text in bases):
            return True
        values = (each.value for each in node.body if isinstance(each, (ast.Assign, ast.AnnAssign)))
        made = (each.func.id for each in values if isinstance(each, ast.Call) and isinstance(each.func, ast.Name))
        return any("__set_name__" in text for name in made for text in self._texts(path, name))

    def _texts(self, path: Path, name: str, depth: int = _DEPTH) -> Iterator[str]:
        """The texts of a class of the project and of its bases."""
        found = self.lookup(path, name) if depth else None
        if not isinstance(found, tuple):
            return
        bound = self.outline(found[0]).names.get(found[1])
        if isinstance(bound, Definition) and bound.text.startswith("class"):
            yield bound.text
            head = _HEAD.match(bound.text)
            for base in _NAME.findall(head[1]) if head is not None else ():
                yield from self._texts(found[0], base, depth - 1)

    def _from_star(self, path: Path, outline: Outline, name: str, depth: int) -> Place | str | None:
        for star in outline.stars:
            home = self._find(path, star.module, star.level)
            found = self.lookup(home, name, depth - 1) if home is not None and home.suffix == ".py" else None
            if found is not None:
                return found
        part = None
        if path.name == "__init__.py":
            part = self._find(path, name, 1)
        elif path.suffix != ".py":
            part = self._find(path, f"{path.name}.{name}", 1)
        return None if part is None else (part, "")
