"""The outline of a file: what its top level does and which names it binds, read without the bodies of its functions."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from msgspec import Struct

from torch_doctor.pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_DEFINITION = pattern(
    r"^(?:async[ \t]+def|def|class)[ \t]+(?P<name>\w+).*(?:\n(?:[ \t#)\]}].*|[ \t\r]*(?=\n|\Z)))*", re.MULTILINE
)
"""A function or class at the top level, to the end of its body."""


class Taken(Struct, frozen=True):
    """What an import binds to a name: a module, or `attribute` of it."""

    module: str
    level: int
    attribute: str = ""


class Definition(Struct, frozen=True):
    """A function or class: its text."""

    text: str


class Assigned(Struct, frozen=True):
    """A variable with all that is assigned to it; None for what is assigned to several targets at once, or by a loop."""

    values: list[ast.expr | None]


class Outline:
    """The statements of a file's top level (`body`), with those in its branches, and what its names are bound to.

    `imports` are the imports that happen when the file is imported, `stars` those of all that a module has.
    """

    def __init__(self, text: str) -> None:
        self.names: dict[str, Taken | Definition | Assigned] = {}
        self.imports: list[Taken] = []
        self.stars: list[Taken] = []
        self.body = _parse(text, self.names)
        self.statements = list(_executed(self.body))
        for statement in self.statements:
            self._bind(statement)

    def _bind(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                taken = Taken(alias.name if alias.asname else alias.name.partition(".")[0], 0)
                self.names[alias.asname or taken.module] = taken
                self.imports.append(Taken(alias.name, 0))
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                taken = Taken(node.module or "", node.level, alias.name)
                self.imports.append(taken)
                if alias.name == "*":
                    self.stars.append(taken)
                else:
                    self.names[alias.asname or alias.name] = taken
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            self.names.setdefault(node.name, Definition(ast.unparse(node)))
        elif not isinstance(node, ast.AugAssign):  # what is there is changed
            for target in targets(node):
                value = getattr(node, "value", None)
                for each in ast.walk(target):
                    if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
                        self._assign(each.id, value if each is target else None)

    def _assign(self, name: str, value: ast.expr | None) -> None:
        bound = self.names.get(name)
        if isinstance(bound, Assigned):
            bound.values.append(value)
        else:
            self.names[name] = Assigned([value])


def _parse(text: str, definitions: dict[str, Taken | Definition | Assigned]) -> Sequence[ast.stmt]:
    """The statements of a file, with short ones in place of the functions and classes at its top level.

    Raises:
        SyntaxError: the file cannot be parsed.
    """

    def shortened(match: re.Match[str]) -> str:
        definitions[match["name"]] = Definition(match[0])
        return f"class {match['name']}: 0\n"

    try:
        return ast.parse(_DEFINITION.sub(shortened, text)).body
    except (SyntaxError, ValueError):  # text in quotes that looks like code
        definitions.clear()
        return ast.parse(text).body


def _executed(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements and those in their branches, without what is not executed on import."""
    for node in body:
        yield node
        if isinstance(node, ast.If) and _is_never(node.test):
            yield from _executed(node.orelse)
        elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            for part in ("body", "orelse", "finalbody"):
                yield from _executed(getattr(node, part, ()))
            for handler in getattr(node, "handlers", ()):
                yield from _executed(handler.body)


def _is_never(test: ast.expr) -> bool:
    """Whether a test fails on import: of `TYPE_CHECKING`, or of being run as a script."""
    if isinstance(test, ast.Compare):
        return isinstance(test.left, ast.Name) and test.left.id == "__name__" and isinstance(test.ops[0], ast.Eq)
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):  # `TYPE_CHECKING or SLOW_IMPORT`: lazy packages
        return any(map(_is_never, test.values))
    return (getattr(test, "id", "") or getattr(test, "attr", "")) == "TYPE_CHECKING"


def targets(node: ast.AST) -> list[ast.expr]:
    """What a statement assigns to."""
    if isinstance(node, ast.Assign):
        return node.targets
    if isinstance(node, (ast.With, ast.AsyncWith)):
        return [item.optional_vars for item in node.items if item.optional_vars is not None]
    target = getattr(node, "target", None)
    return [] if target is None else [target]


def own_parts(node: ast.stmt) -> Iterator[ast.expr]:
    """The expressions of a statement, without those of the statements in it."""
    for part in ast.iter_child_nodes(node):
        if isinstance(part, ast.expr):
            yield part
        elif isinstance(part, ast.withitem):
            yield part.context_expr


def root(node: ast.expr) -> tuple[ast.expr, tuple[str, ...]]:
    """What a chain of attributes and items begins with, and the attributes; an item is the attribute ""."""
    names: list[str] = []
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        names.append(node.attr if isinstance(node, ast.Attribute) else "")
        node = node.value
    return node, tuple(reversed(names))
