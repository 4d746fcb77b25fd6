"""Has comparisons and choices report their numbers, and assignments what they keep, where the source has a finding."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from ..nodes import last_name, span_of
from .rewriter import Rewriter
from .syntax import compiles

if TYPE_CHECKING:
    from collections.abc import Collection

    from ..nodes import File, Index

SIGNS = {ast.Lt: "<", ast.Gt: ">", ast.LtE: "<=", ast.GtE: ">="}
CHOOSING = frozenset({"max", "min", "argmax", "argmin", "nanargmax", "nanargmin"})


class JudgingRewriter(Rewriter):
    """`a < b` → `judged(key, a) < judged(key, b)`, and `max(several, key=f)` → `max(several, key=judged(key, f))`."""

    def __init__(self, index: Index, file: File, rows: Collection[int]) -> None:
        super().__init__(index, file)
        self._rows = frozenset(rows)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Functions whose bytecode a compiler reads stay as they are."""
        return node if any(compiles(each) for each in node.decorator_list) else self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        """`best = (acc, model)` → `best = alias(key, (acc, alias(key, model)))`: what is kept may be what is trained."""
        self.generic_visit(node)
        if not self._rows.isdisjoint(range(node.lineno, (node.end_lineno or node.lineno) + 1)):
            text = self.file.spelled(node.targets[0])
            for each in ast.walk(node.value):
                if isinstance(each, (ast.Tuple, ast.List)) and isinstance(each.ctx, ast.Load):
                    each.elts = [self._alias(text, item) for item in each.elts]
                elif isinstance(each, ast.Dict):
                    each.values = [self._alias(text, item) for item in each.values]
            node.value = self._alias(text, node.value)
        return node

    def _alias(self, text: str, value: ast.expr) -> ast.expr:
        if not isinstance(value, (ast.Name, ast.Attribute, ast.Call, ast.ListComp)):
            return value
        spelled = self.file.spelled(value)
        key = self.index.add("alias", span_of(self.file.path, value), text=text, value=spelled, how="asked")
        return self.call("alias", value, key, value)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """A comparison of two things."""
        self.generic_visit(node)
        sign = SIGNS.get(type(node.ops[0]))
        if node.lineno in self._rows and len(node.ops) == 1 and sign is not None:
            node.left = self._judged(node, node.left, "left", sign)
            node.comparators[0] = self._judged(node, node.comparators[0], "right", sign)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """A choice of one of several."""
        self.generic_visit(node)
        name, function = last_name(node.func), node.func
        if node.lineno not in self._rows or name not in CHOOSING:
            return node
        sign = "max" if name.endswith("max") else "min"
        key = next((each for each in node.keywords if each.arg == "key"), None)
        if key is not None:
            key.value = self._judged(node, key.value, "key", sign)
        elif len(node.args) == 1 and not isinstance(node.args[0], ast.Starred):
            node.args[0] = self._judged(node, node.args[0], "all", sign)
        elif not node.args and isinstance(function, ast.Attribute):
            function.value = self._judged(node, function.value, "all", sign)
        return node

    def _judged(self, node: Any, value: ast.expr, how: str, sign: str) -> ast.expr:
        key = self.index.add("judged", span_of(self.file.path, node), text=self.file.spelled(node), how=how, name=sign)
        return self.call("judged", value, key, value)
