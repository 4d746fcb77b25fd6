"""Calls and texts report the tensors that they read."""

from __future__ import annotations

import ast
from typing import Any

from ..nodes import span_of
from .rewriter import Rewriter
from .syntax import READING, is_plain, is_super, reads, written_out


class ExpressionRewriter(Rewriter):
    """Rewrites calls, formatted texts and contexts that are named and not called."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """`model.forward(x)` is a call of the model as a whole; `x.item()` → `read(key, x).item()`, `print(x)` alike."""
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr == "forward" and not is_super(function.value):
            span, text = span_of(self.file.path, node), self.file.spelled(function.value)
            key = self.index.add("direct", span, text=text)
            self.generic_visit(node)
            node.func = self.call("direct", function, key, function)
            return node
        if isinstance(function, ast.Attribute) and self._logs(function.attr):
            return self._logging(node, function)
        how = reads(node)
        if not how:
            return self.generic_visit(node)
        key = self.index.add("read", span_of(self.file.path, node), text=self.file.spelled(node), how=how)
        self.generic_visit(node)
        if how in READING and isinstance(function, ast.Attribute):
            function.value = self.call("read", function.value, key, function.value)
        else:
            node.args = [self._read(each, key) for each in node.args]
        return node

    def _logs(self, method: str) -> bool:
        """Whether it may be the method of a log that wants numbers, or of a meter, whose package the file has to name."""
        uses = ((package, methods.get(method)) for package, methods in self.index.sinks.items())
        return any(use == "number" or (use == "keeps" and package in self.file.text) for package, use in uses)

    def _logging(self, node: ast.Call, function: ast.Attribute) -> ast.AST:
        """`bar.set_postfix(loss=loss)` → `logs(key, bar.set_postfix)(loss=loss)`."""
        named: dict[str, ast.expr] = {}
        for place, argument in enumerate(node.args):
            if isinstance(argument, ast.Starred):
                break
            named |= written_out(str(place), argument)
        for keyword in node.keywords:
            if keyword.arg is not None:
                named |= written_out(keyword.arg, keyword.value)
            elif isinstance(keyword.value, ast.Dict):
                named |= {name.removeprefix("."): each for name, each in written_out("", keyword.value).items() if name}
            else:
                named["**"] = keyword.value
        spans = [(span_of(self.file.path, each), self.file.spelled(each)) for each in named.values()]
        key = self.index.add(
            "logs",
            span_of(self.file.path, node),
            text=self.file.spelled(function),
            name=function.attr,
            arguments=tuple(self.index.add("logged", span, text=text) for span, text in spans),
            argument_names=tuple(named),
        )
        self.generic_visit(node)
        node.func = self.call("logs", function, key, function)
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        """`f"{x}"` → `f"{read(key, x)}"`."""
        parts = [each for each in node.values if isinstance(each, ast.FormattedValue) and not is_plain(each.value)]
        if not parts:
            return self.generic_visit(node)
        key = self.index.add("read", span_of(self.file.path, node), text=self.file.spelled(node), how="format")
        self.generic_visit(node)
        for each in parts:
            each.value = self._read(each.value, key)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """`loss.data[0]` → `first(loss.data)`: tensors of one number had a first one."""
        self.generic_visit(node)
        first = (
            isinstance(node.ctx, ast.Load)
            and isinstance(node.slice, ast.Constant)
            and node.slice.value == 0
            and node.slice.value is not False
        )
        return self.call("first", node, node.value) if first else node

    def _read(self, value: ast.expr, key: int) -> ast.expr:
        return value if isinstance(value, ast.Starred) or is_plain(value) else self.call("read", value, key, value)

    def _with(self, node: Any) -> Any:
        """`with torch.no_grad:`."""
        texts = [self.file.spelled(item.context_expr) for item in node.items]
        self.generic_visit(node)
        for item, text in zip(node.items, texts, strict=True):
            expression = item.context_expr
            if isinstance(expression, ast.Attribute):
                key = self.index.add("named", span_of(self.file.path, expression), text=text, name=expression.attr)
                item.context_expr = self.call("named", expression, key, expression)
        return node

    visit_With = visit_AsyncWith = _with  # noqa: N815
