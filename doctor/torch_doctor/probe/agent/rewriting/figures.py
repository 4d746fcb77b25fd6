"""Has the values that a script compares, rounds, reports or returns reported, for runs that are compared."""

from __future__ import annotations

import ast
from typing import Any

from ..hooks import PREFIX
from ..nodes import last_name, span_of
from .rewriter import Rewriter
from .syntax import compiles, is_super

READ = frozenset({"item", "tolist", "float", "int", "round", "bool"})
CHOSEN = frozenset({"argmax", "argmin", "argsort", "gt", "ge", "lt", "le", "eq", "ne", "equal", "allclose", "isclose"})
COMPARED = (ast.Gt, ast.GtE, ast.Lt, ast.LtE, ast.Eq, ast.NotEq)


class FigureRewriter(Rewriter):
    """`x > 0.5` → `figure(key, x > 0.5)`, `x.item()` and `return x` alike; `print(x)` → `reports(key, print)(x)`."""

    _special = False

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Functions whose bytecode a compiler reads stay as they are; what `__len__` and the like return is no figure."""
        if any(compiles(each) for each in node.decorator_list):
            return node
        around, self._special = self._special, node.name.startswith("__")
        try:
            return self.generic_visit(node)
        finally:
            self._special = around

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """A comparison."""
        compared = any(isinstance(each, COMPARED) for each in node.ops)
        return self._figure(node, "compared") if compared else self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """A call that gives a number, or chooses one."""
        name = last_name(node.func)
        if name in CHOSEN:
            return self._figure(node, "chosen")
        return self._figure(node, "read") if name in READ else self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        """A call whose result nobody takes."""
        call = node.value
        if not isinstance(call, ast.Call) or not (call.args or call.keywords) or self._is_left(call.func):
            return self.generic_visit(node)
        key = self.index.add("figure", span_of(self.file.path, call), text=self.file.spelled(call), how="reported")
        self.generic_visit(node)
        if node.value is call:
            call.func = self.call("reports", call.func, key, call.func)
        return node

    def visit_Return(self, node: ast.Return) -> ast.AST:
        """What a function returns, perhaps to a library."""
        value = node.value
        if value is None or isinstance(value, ast.Constant) or self._special:
            return self.generic_visit(node)
        key = self.index.add("figure", span_of(self.file.path, value), text=self.file.spelled(value), how="returned")
        self.generic_visit(node)
        node.value = self.call("figure", value, key, node.value)
        return node

    @staticmethod
    def _is_left(function: ast.expr) -> bool:
        """Whether it is a method of `super()`, or a hook that another part of the agent has put in."""
        if isinstance(function, ast.Attribute):
            return is_super(function.value)
        return last_name(function).startswith(PREFIX)

    def _figure(self, node: Any, how: str) -> ast.AST:
        key = self.index.add("figure", span_of(self.file.path, node), text=self.file.spelled(node), how=how)
        return self.call("figure", node, key, self.generic_visit(node))
