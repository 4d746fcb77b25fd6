"""Where what a training loop uses comes from, by the names in its source: what of it nobody can look into."""

from __future__ import annotations

import ast
import builtins
import sys
from collections import defaultdict
from typing import TYPE_CHECKING

from torch_doctor.static.tables.libraries import HARMLESS, PLAIN

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch_doctor.sources.source import SourceFile
    from torch_doctor.static.imports import Imports

_KNOWN = frozenset((*sys.stdlib_module_names, "torch", *(name.partition(".")[0] for name in HARMLESS | PLAIN)))
"""Packages of which enough is known: that nobody looks into them explains nothing."""
_MAKERS = frozenset(
    ("eval", "exec", "getattr", "globals", "__import__", "import_module", "instantiate", "locate", "load")
)
"""Functions whose result nothing in the source tells."""
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_IMPORTS = (ast.Import, ast.ImportFrom)
STAR = "*"


class Origins:
    """The names of one file, each with the expressions that give it its values."""

    def __init__(self, file: SourceFile, tree: ast.Module, imports: Imports) -> None:
        self._given: defaultdict[str, list[ast.AST]] = defaultdict(list)
        self._missing = dict(_missing(tree, file, imports))
        for node in ast.walk(tree):
            for target, value in _bindings(node):
                for name in _names(target):
                    self._given[name].append(value)
            if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
                self._given[node.name] += [node, *node.decorator_list]
            elif isinstance(node, ast.Call):
                self._given[f"{_last(node.func)}()"] += [*node.args, *(keyword.value for keyword in node.keywords)]

    def reason(self, around: Sequence[ast.AST]) -> str:
        """Why nothing is known of a loop: `around` is its `backward` and what that lies in, from the inside to the file."""
        made = ""
        for name, value in self._reached(around):
            if module := self._missing.get(name) or self._by_star(name):
                return f"`{name}` comes from {module}, which was not found"
            if not made and isinstance(value, ast.Call) and _last(value.func) in _MAKERS:
                made = f"`{name}` is returned by `{ast.unparse(value.func)}`, whose result is unknown"
        return made or f"`{ast.unparse(self._loss(around[0]))}` is computed from unknown values"

    def _loss(self, backward: ast.AST) -> ast.AST:
        """What goes backward: the one whose method is called, or what a function of a module is given."""
        if not isinstance(backward, ast.Call) or not isinstance(backward.func, ast.Attribute):
            return backward
        owner = backward.func.value
        given = self._given.get(owner.id, ()) if isinstance(owner, ast.Name) else ()
        return backward.args[-1] if backward.args and any(isinstance(value, _IMPORTS) for value in given) else owner

    def _reached(self, around: Sequence[ast.AST]) -> Iterator[tuple[str, ast.AST | None]]:
        """The names that the loop uses, the nearest first, and those that these come from, each with what gives it."""
        waiting = [name for node in around[:-1] for name in self._used(node)]
        seen: set[str] = set()
        while waiting:
            name = waiting.pop(0)
            if name in seen:
                continue
            seen.add(name)
            values = self._given.get(name, [])
            yield name, next(iter(values), None)
            waiting += [used for value in values for used in self._used(value)]

    def _used(self, node: ast.AST) -> Iterator[str]:
        """The names in a part of the file; a function or a class also uses what it is called with."""
        yield from _names(node)
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            for value in self._given.get(f"{node.name}()", ()):
                yield from _names(value)

    def _by_star(self, name: str) -> str:
        """The module that the name must come from: it is defined nowhere, and all of this module is imported."""
        unbound = name.isidentifier() and name not in self._given and not hasattr(builtins, name)
        return self._missing.get(STAR, "") if unbound else ""


def _missing(tree: ast.Module, file: SourceFile, imports: Imports) -> Iterator[tuple[str, str]]:
    """The names that come from modules that cannot be found, with these modules."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            named = [("." * node.level + (node.module or ""), alias.asname or alias.name) for alias in node.names]
        elif isinstance(node, ast.Import):
            named = [(alias.name, (alias.asname or alias.name).partition(".")[0]) for alias in node.names]
        else:
            continue
        for module, name in named:
            level = len(module) - len(module.lstrip("."))
            known = imports.package(file.path) if level else module.partition(".")[0] in _KNOWN
            if not known and imports.find(file.path, module.lstrip("."), level) is None:
                yield name, module


def _bindings(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Targets that a node gives values, with the expressions that these come from."""
    if isinstance(node, ast.Assign):
        yield from ((target, node.value) for target in node.targets)
    elif isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.NamedExpr)) and node.value is not None:
        yield node.target, node.value
    elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
        yield node.target, node.iter
    elif isinstance(node, ast.withitem) and node.optional_vars is not None:
        yield node.optional_vars, node.context_expr
    elif isinstance(node, ast.arguments):
        for each in (*node.posonlyargs, *node.args, *node.kwonlyargs):
            yield each, each
    elif isinstance(node, _IMPORTS):
        yield from ((ast.Name(alias.asname or alias.name.partition(".")[0]), node) for alias in node.names)


def _names(node: ast.AST) -> Iterator[str]:
    """The names in a part of the source, those of arguments, and `self.x` as `.x`."""
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            yield part.id
        elif isinstance(part, ast.arg):
            yield part.arg
        elif isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id == "self":
            yield f".{part.attr}"


def _last(func: ast.expr) -> str:
    return func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
