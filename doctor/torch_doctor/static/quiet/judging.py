"""Whether code that is executed on import does anything besides binding names, as far as its syntax shows."""

from __future__ import annotations

import ast
import builtins
from typing import TYPE_CHECKING

from torch_doctor.static.quiet import reading
from torch_doctor.static.quiet.outline import Assigned, Definition, Taken, own_parts, root, targets
from torch_doctor.static.tables.importing import CHANGING, LOUD_FUNCTIONS, READING, is_quiet, is_quiet_module

if TYPE_CHECKING:
    from pathlib import Path

    from torch_doctor.static.quiet.names import Outlines, Place
    from torch_doctor.static.quiet.outline import Outline


_BUILTINS = frozenset(dir(builtins))


class Judging:
    """Judges the code of files by their outlines; `names` tells what is where."""

    def __init__(self, names: Outlines) -> None:
        self.names = names
        self._known: dict[tuple[Place, int, bool], bool] = {}  # of functions: whether calling one has no effect
        self._assumed: set[tuple[Place, int, bool]] = set()  # those for which that is so unless another tells otherwise

    def top(self, path: Path) -> bool:
        """Whether the top level of a file only defines and binds names."""
        scope = _Scope(self, path, self.names.outline(path), None, asked=True)
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
            scope = _Scope(self, path, outline, None, asked=asked)
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
        scope = _Scope(self, path, outline, reading.variables(node), reading.assigned(node), given, own, asked=asked)
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
            scope = _Scope(
                self,
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
        if len(names) == 1 and names[0] in _BUILTINS and names[0] not in self.names.outline(path).names:
            return True
        return self.named(path, names, decorates=0, asked=False)


class _Scope:
    """The names in one piece of code.

    `local` are those of the function it belongs to, None at a file's top level, `given` those that depend on its arguments,
    `own` those of them that it may change: `self` in a constructor, what a decorator gets.
    `asked`: somebody gives it something, so that what it changes of its file differs from call to call.
    """

    def __init__(
        self,
        judging: Judging,
        path: Path,
        outline: Outline,
        local: frozenset[str] | None,
        values: dict[str, list[ast.AST]] | None = None,
        given: frozenset[str] = frozenset(),
        own: frozenset[str] = frozenset(),
        *,
        asked: bool,
    ) -> None:
        self._judging = judging
        self._path = path
        self.outline = outline
        self._in_function = local is not None
        self._local = local or frozenset()
        self._values = values or {}
        self._asked = asked
        self._given = given
        self._own = own

    def alias(self, node: ast.expr, *, decorates: int) -> bool:
        """Whether calling what a variable is assigned has no effect."""
        if isinstance(node, ast.Lambda):
            return self._expression(node.body)
        return isinstance(node, (ast.Name, ast.Attribute)) and self._call(ast.Call(node, [], []), decorates=decorates)

    def statement(self, node: ast.stmt) -> bool:
        """Whether executing a statement, without those in it, has no effect."""
        if isinstance(node, ast.ClassDef):
            body = () if self._in_function else reading.inside(self._defined(node), deeper=0)
            return all(map(self._decorator, node.decorator_list)) and all(map(self.statement, body))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return all(map(self._decorator, node.decorator_list))
        if isinstance(node, ast.While):
            return False
        if isinstance(node, (ast.Expr, ast.With)) and not self._in_function:
            return all(map(self._is_for_itself, own_parts(node)))
        if isinstance(node, (ast.Raise, ast.Assert)):
            return True
        written = [each for target in targets(node) for each in reading.flat(target)]
        for each in written:
            if (
                self._in_function
                and isinstance(each, ast.Name)
                and each.id not in self._local
                and not self._is_same(node)
            ):
                return False  # a global of the file is set, as the caller wants it
        return all(self._target(each, node) for each in written) and all(map(self._expression, own_parts(node)))

    def _defined(self, node: ast.ClassDef) -> ast.ClassDef:
        """A class of the top level with its body, which the outline has left out."""
        bound = self.outline.names.get(node.name)
        if isinstance(bound, Definition):
            found = reading.parsed(bound.text)
            return found if isinstance(found, ast.ClassDef) else node
        return node

    def _is_for_itself(self, node: ast.expr) -> bool:
        """Whether an expression whose value nobody uses changes no more than an object of this file, or what a library has."""
        if isinstance(node, ast.Constant):
            return True
        if not isinstance(node, ast.Call):
            return False
        begin, names = root(node.func)
        if not isinstance(begin, ast.Name) or "" in names:
            return False
        found = self._judging.names.lookup(self._path, begin.id)
        if isinstance(found, tuple) and not (names and self._is_own(begin.id, changes=True, node=node)):
            return False
        bound = self.outline.names.get(begin.id)
        if isinstance(bound, Definition) or (
            isinstance(bound, Assigned) and any(self._judging.names.is_made(self._path, each) for each in bound.values)
        ):
            return False
        return self._expression(node)

    def _is_same(self, node: ast.AST) -> bool:
        """Whether what is executed does not depend on what the function was given."""
        return not self._asked or not any(getattr(each, "id", "") in self._given for each in ast.walk(node))

    def _target(self, node: ast.expr, within: ast.AST) -> bool:
        """Whether assigning to this changes nothing that another file knows."""
        begin, rest = root(node)
        if not rest:
            return (
                not (self._in_function and isinstance(within, ast.AugAssign)) or getattr(begin, "id", "") in self._local
            )
        if self._asked and getattr(begin, "id", "") in self._given - self._own:
            return False  # what it was given changes
        if len(rest) > 1 and not self._in_function:
            return False  # an item of an item may be known elsewhere
        return isinstance(begin, ast.Name) and self._is_own(begin.id, changes=True, node=within)

    def _is_quiet_local(self, name: str) -> bool:
        """Whether calling a variable of the function has no effect: it is a function of it, or taken from a table of such."""
        values = self._values.get(name, [])
        return bool(values) and all(map(self._is_quiet_callable, values))

    def _is_quiet_callable(self, node: ast.AST) -> bool:
        if isinstance(node, ast.FunctionDef):
            return True  # its statements are judged with those around it
        if isinstance(node, ast.Lambda):
            return self._expression(node.body)
        if not isinstance(node, ast.expr):
            return False
        begin, names = root(node)
        if not isinstance(begin, ast.Name) or begin.id in self._local:
            return False
        if names == ("",):
            bound = self.outline.names.get(begin.id)
            tables = bound.values if isinstance(bound, Assigned) else [None]
            return all(isinstance(each, ast.Dict) and all(map(self._is_quiet_callable, each.values)) for each in tables)
        return self._call(ast.Call(begin if not names else node, [], []))

    def _is_own(self, name: str, *, changes: bool, node: ast.AST | None = None) -> bool:
        """Whether a variable is an object of this code alone, or of Python; `changes`: it is changed."""
        if name in self._local:
            return True
        bound = self.outline.names.get(name)
        if isinstance(bound, Taken):
            home = self._judging.names.lookup(self._path, name)
            return isinstance(home, str) and is_quiet_module(home)
        if bound is None:
            return name in _BUILTINS
        if self._in_function and changes:
            return node is not None and self._is_same(node)
        if isinstance(bound, Assigned) and changes:
            return not any(self._judging.names.is_alias(self._path, each) for each in bound.values)
        return True

    def _expression(self, node: ast.expr) -> bool:
        outer, inner = self._local, {each.id for each in reading.comprehended(node)}
        self._local |= inner
        found = all(map(self._call, reading.calls(node)))
        self._local = outer
        return found

    def _decorator(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Call):
            return self._call(node, decorates=2) and all(map(self._expression, node.args))
        return self._call(ast.Call(node, [], []), decorates=1)

    def _call(self, node: ast.Call, *, decorates: int = 0) -> bool:
        begin, names = root(node.func)
        if not isinstance(begin, ast.Name):
            return bool(names) or not isinstance(
                begin, (ast.Call, ast.Subscript)
            )  # what it is called of is judged itself
        name = begin.id
        if name in self._local:
            return bool(names) or self._is_quiet_local(name)
        bound = self.outline.names.get(name)
        if bound is None and name in _BUILTINS:
            return f"builtins.{name}" not in LOUD_FUNCTIONS or (
                name == "setattr" and self._target(reading.changed_by(node), node)
            )
        if names and isinstance(bound, (Assigned, Definition)):
            changes = bool(decorates) or names[-1] in CHANGING
            return self._is_own(name, changes=changes, node=node)
        return self._judging.named(
            self._path, (name, *names), decorates=decorates, asked=self._asked and bool(node.args or node.keywords)
        )
