"""Loops report their passes."""

from __future__ import annotations

import ast
from typing import Any

from ..nodes import span_of
from .rewriter import Rewriter
from .syntax import does_something


class LoopRewriter(Rewriter):
    """Rewrites `for`, `while` and comprehensions."""

    def visit_For(self, node: ast.For) -> ast.AST:
        """`for x in y` → `for x in watched(key, y)`."""
        if not does_something(node):
            return self.generic_visit(node)
        key = self._loop("for", node, node.body[0], node.body[-1], node.iter)
        self.generic_visit(node)
        node.iter = self.call("for", node.iter, key, node.iter)
        return node

    def visit_AsyncFor(self, node: ast.AsyncFor) -> ast.AST:
        """As `for`."""
        key = self._loop("for", node, node.body[0], node.body[-1], node.iter)
        self.generic_visit(node)
        node.iter = self.call("async_for", node.iter, key, node.iter)
        return node

    def visit_While(self, node: ast.While) -> Any:
        """`while test` → `begin(key); while more(key) and test`."""
        if not does_something(node):
            return self.generic_visit(node)
        key = self._loop("while", node, node.test, node.body[-1], node.test)
        self.generic_visit(node)
        more = self.call("more", node.test, key)
        always = isinstance(node.test, ast.Constant) and bool(node.test.value)
        node.test = more if always else ast.copy_location(ast.BoolOp(ast.And(), [more, node.test]), node.test)
        return [self.statement("begin", node, key), node]

    def _comprehension(self, node: Any) -> Any:
        elements = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        if not any(does_something(each) for each in elements):
            self.generic_visit(node)
            return node
        spans = [span_of(self.file.path, node)] * len(node.generators)
        overs = [span_of(self.file.path, each.iter) for each in node.generators]
        texts = [self.file.spelled(each.iter) for each in node.generators]
        self.generic_visit(node)
        for each, span, over, text in zip(node.generators, spans, overs, texts, strict=True):
            if each.is_async == 0:
                first, last = (span.row, span.column), (span.end_row, span.end_column)
                key = self.index.add("comprehension", span, first=first, last=last, over=over, text=text)
                each.iter = self.call("for", each.iter, key, each.iter)
        return node

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension  # noqa: N815

    def _loop(self, kind: str, node: ast.stmt, first: ast.AST, last: ast.AST, over: ast.AST) -> int:
        span, begin, end = span_of(self.file.path, node), span_of("", first), span_of("", last)
        over_span = span_of(self.file.path, over)
        header = span._replace(end_row=over_span.end_row, end_column=over_span.end_column)
        return self.index.add(
            kind,
            header,
            first=(begin.row, begin.column),
            last=(end.end_row, end.end_column),
            over=over_span,
            text=self.file.spelled(over),
            names=_names(node),
        )


def _names(loop: ast.stmt) -> tuple[tuple[str, int, int], ...]:
    """The names that each pass of a `for` assigns: after which row that is so, 0 for its header, and the last row that does it."""
    if not isinstance(loop, ast.For):
        return ()
    surely = dict.fromkeys(_stored(loop.target), 0)
    last: dict[str, int] = {}
    for each in loop.body:
        last |= dict.fromkeys(_stored(each), each.end_lineno or 0)
        if isinstance(each, ast.Assign):
            for name in _stored(each):
                surely.setdefault(name, each.end_lineno or 0)
    return tuple((name, row, last.get(name, 0)) for name, row in surely.items())


def _stored(node: ast.AST) -> list[str]:
    return [each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)]
