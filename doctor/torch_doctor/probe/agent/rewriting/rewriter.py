"""What rewriting a syntax tree needs: the file, its index of places, and the calls that are added."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from ..hooks import name_of

if TYPE_CHECKING:
    from ..nodes import File, Index


class Rewriter(ast.NodeTransformer):
    """Changes the tree of one file; each part of the package adds the nodes that it rewrites."""

    def __init__(self, index: Index, file: File) -> None:
        self.index = index
        self.file = file

    def call(self, name: str, at: ast.AST, *arguments: Any) -> ast.Call:
        """A call of a hook, placed where `at` is."""
        function = ast.copy_location(ast.Name(name_of(name), ast.Load()), at)
        values = [ast.copy_location(ast.Constant(each), at) if isinstance(each, int) else each for each in arguments]
        return ast.copy_location(ast.Call(function, values, []), at)

    def statement(self, name: str, at: ast.stmt, *arguments: Any) -> ast.Expr:
        """As `call`, for a statement of its own."""
        made = ast.copy_location(ast.Expr(self.call(name, at, *arguments)), at)
        for part in ast.walk(made):
            ast.copy_location(part, at)
        return made
