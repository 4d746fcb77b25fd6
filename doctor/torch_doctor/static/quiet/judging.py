"""Whether code that is executed on import does anything besides binding names, as far as its syntax shows."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torch_doctor.static.quiet import reading
from torch_doctor.static.quiet.outline import Assigned, Definition, root
from torch_doctor.static.quiet.scope import BUILTINS, Scope
from torch_doctor.static.tables.importing import READING, is_quiet

if TYPE_CHECKING:
    from pathlib import Path

    from torch_doctor.static.quiet.names import Outlines, Place
    from torch_doctor.static.quiet.outline import Outline


class Judging:
    """Judges the code of files by their outlines; `names` tells what is where."""

    def __init__(self, names: Outlines) -> None:
        self.names = names
        self._known: dict[tuple[Place, int, bool], bool] = {}  # of functions: whether calling one has no effect
        self._assumed: set[tuple[Place, int, bool]] = set()  # those for which that is so unless another tells otherwise

    def top(self, path: Path) -> bool:
        """Whether the top level of a file only defines and binds names."""
        scope = Scope(self.names, self.named, path, self.names.outline(path), None, asked=True)
        return all(map(scope.statement, scope.outline.statements))

    def named(self, path: Path, names: tuple[str, ...], *, decorates: int, asked: bool) -> bool:
        """Whether calling what a dotted name means in a file has no effect; `asked`: it may be given something.

        `decorates` is 0 for a plain call, 1 for `@name` and 2 for `@name(...)`: so many functions in each other are executed.
        """
        found = self.names.lookup(path, names[0])
        if isinstance(found, tuple):
            place, rest = found, names[1:]
            while rest and not place[1]:
                inner = self.names.lookup(place[0], rest[0])
                if not isinstance(inner, tuple):
                    return isinstance(inner, str) and is_quiet(".".join((inner, *rest[1:])), decorates=bool(decorates))
                place, rest = inner, rest[1:]
            if not place[1]:
                return False
            if rest:
                return len(rest) == 1 and rest[0] in READING
            return self._function(place, decorates=decorates, asked=asked)
        return isinstance(found, str) and is_quiet(".".join((found, *names[1:])), decorates=bool(decorates))

    def _function(self, place: Place, *, decorates: int, asked: bool) -> bool:
        """Whether a call of a project's function, or the construction of an object, has no effect."""
        key = place, decorates, asked
        if key in self._known:
            return self._known[key]
        if key in self._assumed:
            return True  # as far as it calls itself
        outermost = not self._assumed
        self._assumed.add(key)
        found = self._body(place, decorates=decorates, asked=asked)
        if not found:
            self._known[key] = False
        if outermost:
            self._known.update(dict.fromkeys(self._assumed, True) if found else ())
            self._assumed.clear()
        return found

    def _body(self, place: Place, *, decorates: int, asked: bool) -> bool:
        path, name = place
        outline = self.names.outline(path)
        bound = outline.names.get(name)
        if isinstance(bound, Assigned):
            scope = Scope(self.names, self.named, path, outline, None, asked=asked)
            return all(each is not None and scope.alias(each, decorates=decorates) for each in bound.values)
        if not isinstance(bound, Definition):
            return False
        node = reading.parsed(bound.text)
        if isinstance(node, ast.ClassDef):
            return self._construction(path, outline, node, asked=asked)
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return False
        given = reading.given(node)
        own = given if decorates else frozenset[str]()
        scope = Scope(
            self.names,
            self.named,
            path,
            outline,
            reading.variables(node),
            reading.assigned(node),
            given,
            own,
            asked=asked,
        )
        return all(map(scope.statement, reading.inside(node, deeper=decorates - 1 if decorates else reading.ALL)))

    def _construction(self, path: Path, outline: Outline, node: ast.ClassDef, *, asked: bool) -> bool:
        methods = {each.name: each for each in node.body if isinstance(each, ast.FunctionDef)}
        waiting, done = ["__new__", "__init__", "__post_init__"], set[str]()
        for base in node.bases:
            begin, rest = root(base)
            if not isinstance(begin, ast.Name) or not self._is_quiet_base(path, (begin.id, *rest)):
                return False
        while waiting:
            method = methods.get(waiting.pop())
            if method is None or method.name in done:
                continue
            done.add(method.name)
            scope = Scope(
                self.names,
                self.named,
                path,
                outline,
                reading.variables(method),
                reading.assigned(method),
                reading.given(method),
                frozenset(each.arg for each in method.args.args[:1]),
                asked=asked,
            )
            if not all(map(scope.statement, reading.inside(method, deeper=reading.ALL))):
                return False
            waiting += [each.attr for each in ast.walk(method) if isinstance(each, ast.Attribute)]
        return True

    def _is_quiet_base(self, path: Path, names: tuple[str, ...]) -> bool:
        if len(names) == 1 and names[0] in BUILTINS and names[0] not in self.names.outline(path).names:
            return True
        return self.named(path, names, decorates=0, asked=False)
