"""Has what variables get reported that nothing reads."""

from __future__ import annotations

import ast
from typing import Any

from ..nodes import span_of
from .rewriter import Rewriter
from .syntax import compiles

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
OPEN = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.IfExp, ast.BoolOp, ast.NamedExpr)
"""Expressions in which a name may have no value, or one of its own."""


class UnreadRewriter(Rewriter):
    """`x = f(y)` → `x = f(y); unread(key, x, f, y)`, where nothing in the function reads `x`."""

    _read: frozenset[str] = frozenset()

    def visit_Module(self, node: ast.Module) -> Any:
        """The names of the file."""
        return self._within(node)

    def visit_FunctionDef(self, node: Any) -> Any:
        """The names of a function whose bytecode no compiler reads."""
        return node if any(compiles(each) for each in node.decorator_list) else self._within(node)

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815

    def _within(self, node: ast.AST) -> Any:
        around, self._read = self._read, _read_in(node)
        try:
            return self.generic_visit(node)
        finally:
            self._read = around

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        """What a class assigns is read as its attributes."""
        for part in node.body:
            if isinstance(part, FUNCTIONS):
                self.visit(part)
        return node

    def visit_Assign(self, node: ast.Assign) -> Any:
        """An assignment to one variable."""
        target = node.targets[0]
        parts = list(ast.walk(node.value))
        operands = {each.id for each in parts if isinstance(each, ast.Name)}
        if len(node.targets) > 1 or not isinstance(target, ast.Name) or target.id in {*self._read, *operands}:
            return node
        if not operands or any(isinstance(each, OPEN) for each in parts):
            return node
        given = tuple(sorted(operands))
        span, text = span_of(self.file.path, node), self.file.spelled(node.value)
        key = self.index.add("unread", span, text=target.id, value=text, argument_names=given)
        names = [ast.Name(name, ast.Load()) for name in (target.id, *given)]
        return [node, self.statement("unread", node, key, *names)]


def _read_in(node: ast.AST) -> frozenset[str]:
    """The names that are read anywhere in a function, and those that belong to others."""
    found = set()
    for each in ast.walk(node):
        if isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Store):
            found.add(each.id)
        elif isinstance(each, ast.AugAssign) and isinstance(each.target, ast.Name):
            found.add(each.target.id)
        elif isinstance(each, (ast.Global, ast.Nonlocal)):
            found.update(each.names)
    return frozenset(found)
