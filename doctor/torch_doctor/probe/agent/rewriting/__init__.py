"""Compiles the user's own sources so that loops, kept values and changes by hand report themselves.

Only the syntax tree in memory is changed: every place keeps its position, so that tracebacks, `inspect.getsource` and
`co_positions` show what the user wrote. Everything that is added goes through functions in `builtins`, and adds no name
to any namespace of the user's.
"""

from __future__ import annotations

import ast
import importlib.util
from typing import TYPE_CHECKING, Any

from .early_torch import parsed
from .expressions import ExpressionRewriter
from .figures import FigureRewriter
from .guarding import guard
from .judging import JudgingRewriter
from .loops import LoopRewriter
from .shapes import ShapeRewriter
from .statements import StatementRewriter
from .syntax import compiles
from .unread import UnreadRewriter

if TYPE_CHECKING:
    from ..nodes import Index

__all__ = ["compiled"]


class FileRewriter(LoopRewriter, StatementRewriter, ExpressionRewriter):
    """Rewrites all of a file, but for functions that others read."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Functions whose bytecode a compiler reads stay as they are."""
        return node if any(compiles(each) for each in node.decorator_list) else self.generic_visit(node)


def compiled(source: bytes | str, path: str, index: Index, flags: int = 0) -> Any:
    """The code of a file of the user's, rewritten; plain where the rewritten tree cannot be compiled.

    `flags` are those of `from __future__ import` that hold without being written there.

    Raises:
        SyntaxError, ValueError: the source is not valid Python, as `compile` raises them.
    """
    written = source if isinstance(source, str) else importlib.util.decode_source(source)
    tree, text = parsed(written, path)
    if text != written:
        index.note("`async=` is left out, which is no argument any more but a word of Python")
    index.sites.read(path, text)
    file = index.describe(path, text, tree)
    index.mark(tree, path)
    try:
        if index.figures:
            tree = FigureRewriter(index, file).visit(tree)
        if index.shapes:
            tree = ShapeRewriter(index, file).visit(tree)
        changed = FileRewriter(index, file).visit(UnreadRewriter(index, file).visit(tree))
        if rows := index.judged.get(path):
            changed = JudgingRewriter(index, file, rows).visit(changed)
        guard(changed)
        ast.fix_missing_locations(changed)
        return compile(changed, path, "exec", flags, dont_inherit=True)
    except (SyntaxError, RecursionError, ValueError, TypeError):  # too deeply nested with what was added
        return compile(text, path, "exec", flags, dont_inherit=True)
