"""The names in one piece of code that is executed on import, and what its statements do to those of others."""

from __future__ import annotations

import ast
import builtins
from typing import TYPE_CHECKING

from torch_doctor.static.quiet import reading
from torch_doctor.static.quiet.outline import Assigned, Definition, Taken, own_parts, root, targets
from torch_doctor.static.tables.importing import (
    CHANGING,
    ENTERING,
    LOOKING,
    LOUD_FUNCTIONS,
    SAYING,
    calls_back,
    is_quiet_module,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from torch_doctor.static.quiet.names import Outlines
    from torch_doctor.static.quiet.outline import Outline

BUILTINS = frozenset(dir(builtins))


class Scope:
    """The names in one piece of code.

    `local` are those of the function it belongs to, None at a file's top level, `given` those that depend on its arguments,
    `own` those of them that it may change: `self` in a constructor, what a decorator gets.
    `asked`: somebody gives it something, so that what it changes of its file differs from call to call.
    """

    def __init__(
        self,
        names: Outlines,
        named: Callable[..., bool],
        path: Path,
        outline: Outline,
        local: frozenset[str] | None,
        values: dict[str, list[ast.AST]] | None = None,
        given: frozenset[str] = frozenset(),
        own: frozenset[str] = frozenset(),
        *,
        asked: bool,
    ) -> None:
        self._names = names
        self._named = named
        self._path = path
        self.outline = outline
        self._in_function = local is not None
        self._local = local or frozenset()
        self._values = values or {}
        self._asked = asked
        self._given = given
        self._own = own
        self._items = frozenset[str]()  # the variables of comprehensions, which others may have, too

    def alias(self, node: ast.expr, *, decorates: int) -> bool:
        """Whether calling what a variable is assigned has no effect."""
        if isinstance(node, ast.Lambda):
            return self._expression(node.body)
        return isinstance(node, (ast.Name, ast.Attribute)) and self._call(ast.Call(node, [], []), decorates=decorates)

    def statement(self, node: ast.stmt) -> bool:
        """Whether executing a statement, without those in it, has no effect."""
        if isinstance(node, ast.ClassDef):
            defined = node if self._in_function else self._defined(node)
            body = () if self._in_function else reading.inside(defined, deeper=0)
            made = all(map(self._decorator, node.decorator_list)) and self._is_quiet_class(defined)
            return made and all(map(self.statement, body))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return all(map(self._decorator, node.decorator_list))
        if isinstance(node, (ast.While, ast.Match)):
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

    def _is_quiet_class(self, node: ast.ClassDef) -> bool:
        """Whether defining a class calls nothing of its bases, or of its metaclass, that has an effect."""
        parts = [*node.bases, *(each.value for each in node.keywords)]
        return all(map(self._expression, parts)) and not self._names.is_told_of_heirs(self._path, node)

    def _is_for_itself(self, node: ast.expr) -> bool:
        """Whether an expression whose value nobody uses changes no more than an object of this file, or what a library has."""
        if isinstance(node, ast.Constant):
            return True
        if not isinstance(node, ast.Call):
            return False
        begin, names = root(node.func)
        if not isinstance(begin, ast.Name) or "" in names:
            return False
        found = self._names.lookup(self._path, begin.id)
        if isinstance(found, tuple) and not (names and self._is_own(begin.id, changes=True, node=node)):
            return False
        bound = self.outline.names.get(begin.id)
        if isinstance(bound, Definition) or (
            isinstance(bound, Assigned) and any(self._names.is_made(self._path, each) for each in bound.values)
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
            name = getattr(begin, "id", "")
            if not isinstance(within, ast.AugAssign) or name in self._local:
                return True
            return not self._in_function and self._is_own(name, changes=True, node=within)
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
            home = self._names.lookup(self._path, name)
            return isinstance(home, str) and is_quiet_module(home)
        if bound is None:
            return name in BUILTINS
        if self._in_function and changes:
            return node is not None and self._is_same(node)
        if isinstance(bound, Assigned) and changes:
            return not any(self._names.is_alias(self._path, each) for each in bound.values)
        return True

    def _expression(self, node: ast.expr) -> bool:
        if not self._in_function and any(self._names.is_computed(self._path, each) for each in ast.walk(node)):
            return False
        outer = self._local, self._items
        self._items = self._items.union(each.id for each in reading.comprehended(node))
        self._local |= self._items
        found = all(map(self._call, reading.calls(node)))
        self._local, self._items = outer
        return found

    def _decorator(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Call):
            return self._call(node, decorates=2) and all(map(self._expression, node.args))
        return self._call(ast.Call(node, [], []), decorates=1)

    def _call(self, node: ast.Call, *, decorates: int = 0) -> bool:
        begin, names = root(node.func)
        if names and names[-1] in ENTERING:
            return False
        if not isinstance(begin, ast.Name):
            if isinstance(begin, ast.Call):
                return self._is_quiet_method(begin, names)
            return bool(names) or not isinstance(begin, ast.Subscript)
        name = begin.id
        if name in self._local:
            return bool(names and not (name in self._items and names[-1] in CHANGING)) or self._is_quiet_local(name)
        bound = self.outline.names.get(name)
        if bound is None and name in BUILTINS:
            return self._is_quiet_builtin(node, name, names)
        if names and isinstance(bound, (Assigned, Definition)):
            changes = bool(decorates) or names[-1] in CHANGING
            made = bound.values if isinstance(bound, Assigned) and not changes else []
            return self._is_own(name, changes=changes, node=node) and all(
                self._is_quiet_method(each, names) for each in made if isinstance(each, ast.Call)
            )
        asked = self._asked and bool(node.args or node.keywords)
        found = self._named(self._path, (name, *names), decorates=decorates, asked=asked)
        return found and self._gives_quiet(node, name, names)

    def _is_quiet_builtin(self, node: ast.Call, name: str, names: tuple[str, ...]) -> bool:
        """Whether a call of a function of Python has no effect, or of a method of a type as in `dict.update(table, ...)`."""
        changes = name == "setattr" or (bool(names) and names[-1] in CHANGING)
        if changes:
            return self._target(reading.changed_by(node), node)
        return f"builtins.{name}" not in LOUD_FUNCTIONS and self._gives_quiet(node, f"builtins.{name}", names)

    def _is_quiet_method(self, made: ast.Call, names: tuple[str, ...]) -> bool:
        """Whether calling a method of what a call returns has no effect, where a function or class of the project is called."""
        begin, rest = root(made.func)
        while isinstance(begin, ast.Call):
            begin, rest = root(begin.func)[0], ()
        if not isinstance(begin, ast.Name) or begin.id in self._local or not names:
            return bool(names)
        if not isinstance(self._names.lookup(self._path, begin.id), tuple):
            return names[-1] not in CHANGING or begin.id not in LOOKING
        return names[-1] in SAYING or self._named(self._path, (begin.id, *rest, *names), decorates=0, asked=True)

    def _gives_quiet(self, node: ast.Call, name: str, names: tuple[str, ...]) -> bool:
        """Whether a function of a library is given nothing that has an effect when it is called, as `map` does."""
        home = name if "." in name else self._names.lookup(self._path, name)
        if not isinstance(home, str) or not calls_back(".".join((home, *names))):
            return True
        return all(map(self._is_quiet_given, (*node.args, *(each.value for each in node.keywords))))

    def _is_quiet_given(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Lambda):
            return self._expression(node.body)
        begin, names = root(node)
        if not isinstance(begin, ast.Name) or begin.id in self._local or begin.id in BUILTINS:
            return True
        if names and names[-1] in CHANGING:
            return self._is_own(begin.id, changes=True, node=node)
        found = self._names.lookup(self._path, begin.id)
        if not isinstance(found, tuple) or not self._names.is_callable(found):
            return True
        return self._named(self._path, (begin.id, *names), decorates=0, asked=True)
