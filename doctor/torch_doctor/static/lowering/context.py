"""What lowering one file keeps in mind: positions, the names that functions use, and how each sort of node is lowered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from torch_doctor.static import program as p

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable

Expressions: TypeAlias = "dict[type[ast.expr], Callable[[Lowering, Any], p.Expr]]"
"""How each sort of expression is lowered."""
Statements: TypeAlias = "dict[type[ast.stmt], Callable[[Lowering, Any, list[p.Stmt]], None]]"
"""How each sort of statement is lowered: it is added to a list."""


class Lowering:
    """One file's lowering; keeps which names the functions around the current node use.

    `package` is the dotted name of its folder, where that belongs to a library, and "" elsewhere.
    """

    def __init__(self, text: str, expressions: Expressions, statements: Statements, package: str = "") -> None:
        self._package = package
        self._expressions = expressions
        self._statements = statements
        # Python counts columns in bytes of UTF-8; only lines that are not ASCII need counting anew.
        self._wide = None if text.isascii() else [line.encode() for line in text.split("\n")]
        self.imports: list[p.Import | p.ImportFrom] = []
        self.functions: list[tuple[dict[str, set[str]], set[str], list[bool]]] = [({}, set(), [False])]
        # Before Python 3.12 positions inside f-strings are wrong: what stands there is placed at the f-string.
        self.fixed: p.At | None = None

    def program(self, tree: ast.Module) -> p.Program:
        """The program of the whole file."""
        result = p.Program(self.block(tree.body), tuple(self.imports))
        result.uses = self.functions[0][0]
        return result

    def module(self, node: ast.ImportFrom) -> tuple[str, int]:
        """The module that an import takes from, and its level: what lies in a library has the library's name."""
        above = self._package.split(".") if self._package else []
        if not node.level or len(above) < node.level:
            return node.module or "", node.level
        return ".".join([*above[: len(above) - node.level + 1], *filter(None, [node.module])]), 0

    def at(self, node: Any) -> p.At:
        """Where a node stands, in code points."""
        if self.fixed is not None:
            return self.fixed
        row, column, end_row, end_column = node.lineno, node.col_offset, node.end_lineno, node.end_col_offset
        if self._wide is not None:
            column = self._points(row, column)
            end_column = self._points(end_row, end_column)
        return row, column + 1, end_row, end_column + 1

    def _points(self, row: int, offset: int) -> int:
        assert self._wide is not None
        if row > len(self._wide):
            return offset
        return len(self._wide[row - 1][:offset].decode(errors="replace"))

    def block(self, body: list[ast.stmt]) -> tuple[p.Stmt, ...]:
        """The lowered statements."""
        out: list[p.Stmt] = []
        for statement in body:
            lowered = self._statements.get(type(statement))
            if lowered is not None:
                lowered(self, statement, out)
        return tuple(out)

    def expr(self, node: ast.expr) -> p.Expr:
        """The lowered expression."""
        lowered = self._expressions.get(type(node))
        if lowered is None:
            return p.Opaque(self.at(node))
        return lowered(self, node)
