"""Lowers Python's own syntax tree to the small program, in one pass, with exact positions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch_doctor.static import program as p
from torch_doctor.static.lowering.expressions import EXPRESSIONS
from torch_doctor.static.lowering.statements import STATEMENTS

if TYPE_CHECKING:
    import ast

__all__ = ["Lowering", "lower"]


def lower(tree: ast.Module, text: str) -> p.Program:
    """The program of a parsed file; `text` is its source, which tells where columns of non-ASCII lines are."""
    return Lowering(text).program(tree)


class Lowering:
    """One file's lowering; keeps which names the functions around the current node use."""

    def __init__(self, text: str) -> None:
        # Python counts columns in bytes of UTF-8; only lines that are not ASCII need counting anew.
        self._wide = None if text.isascii() else [line.encode() for line in text.split("\n")]
        self.functions: list[tuple[dict[str, set[str]], set[str], list[bool]]] = [({}, set(), [False])]
        # Before Python 3.12 positions inside f-strings are wrong: what stands there is placed at the f-string.
        self.fixed: p.At | None = None

    def program(self, tree: ast.Module) -> p.Program:
        """The program of the whole file."""
        result = p.Program(self.block(tree.body))
        result.uses = self.functions[0][0]
        return result

    def at(self, node: Any) -> p.At:  # noqa: ANN401 - ast's located nodes share no base
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
            lowered = STATEMENTS.get(type(statement))
            if lowered is not None:
                lowered(self, statement, out)
        return tuple(out)

    def expr(self, node: ast.expr) -> p.Expr:
        """The lowered expression."""
        lowered = EXPRESSIONS.get(type(node))
        if lowered is None:
            return p.Opaque(self.at(node))
        return lowered(self, node)
