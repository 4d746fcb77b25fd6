"""Lowers Python's own syntax tree to the small program, in one pass, with exact positions."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torch_doctor.static.lowering.context import Lowering
from torch_doctor.static.lowering.expressions import EXPRESSIONS
from torch_doctor.static.lowering.statements import STATEMENTS

if TYPE_CHECKING:
    from torch_doctor.static import program as p


def lower(tree: ast.Module, text: str, package: str = "") -> p.Program:
    """The program of a parsed file; `text` is its source, which tells where columns of non-ASCII lines are.

    `package` is the dotted name of its folder in the sources of a library: relative imports mean the library there.
    """
    return Lowering(text, EXPRESSIONS, STATEMENTS, package).program(tree)


def expression(text: str, at: p.At) -> p.Expr | None:
    """The lowered expression that a text spells, with all its nodes placed `at` one place; None where it spells none."""
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    low = Lowering(text, EXPRESSIONS, STATEMENTS)
    low.fixed = at
    return low.expr(tree.body)
