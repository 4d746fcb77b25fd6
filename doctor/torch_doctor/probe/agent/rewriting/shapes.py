"""Has variables, attributes and parameters report which shape they got."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from ..nodes import last_name, span_of
from .rewriter import Rewriter
from .syntax import compiles

if TYPE_CHECKING:
    from collections.abc import Iterator


class ShapeRewriter(Rewriter):
    """`x = f(y)` → `x = f(y); shaped(key, x)`, and alike at the begin of functions and of the bodies of loops."""

    def visit_FunctionDef(self, node: Any) -> Any:
        """The parameters of a function whose bytecode no compiler reads."""
        if any(compiles(each) for each in node.decorator_list):
            return node
        self.generic_visit(node)
        arguments = node.args
        given = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        names = [ast.copy_location(ast.Name(each.arg, ast.Load()), each) for each in given]
        first = 0 if ast.get_docstring(node, clean=False) is None else 1
        while first < len(node.body) and isinstance(node.body[first], (ast.Global, ast.Nonlocal)):
            first += 1
        node.body[first:first] = [self._shaped(name, node.body[0]) for name in names]
        return node

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815

    def visit_For(self, node: Any) -> Any:
        """What a loop gives its targets."""
        self.generic_visit(node)
        node.body[:0] = [self._shaped(each, node.body[0]) for each in _targets(node.target)]
        return node

    visit_AsyncFor = visit_For  # noqa: N815

    def visit_Assign(self, node: ast.Assign) -> list[ast.stmt]:
        """What an assignment gives its targets."""
        return [node, *(self._shaped(each, node) for target in node.targets for each in _targets(target))]

    def visit_AnnAssign(self, node: ast.AnnAssign) -> list[ast.stmt]:
        """As an assignment."""
        return [node, *(self._shaped(each, node) for each in _targets(node.target) if node.value is not None)]

    def visit_AugAssign(self, node: ast.AugAssign) -> list[ast.stmt]:
        """As an assignment."""
        return [node, *(self._shaped(each, node) for each in _targets(node.target))]

    def _shaped(self, target: ast.Name | ast.Attribute, at: ast.stmt) -> ast.stmt:
        key = self.index.add("shaped", span_of(self.file.path, target), text=self.file.spelled(target))
        name = ast.Name(target.id if isinstance(target, ast.Name) else last_name(target.value), ast.Load())
        read = ast.Attribute(name, target.attr, ast.Load()) if isinstance(target, ast.Attribute) else name
        return self.statement("shaped", at, key, read)


def _targets(target: ast.expr) -> Iterator[ast.Name | ast.Attribute]:
    """The variables, and the attributes of variables, among the targets of an assignment."""
    if isinstance(target, ast.Name) or (isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name)):
        yield target
    elif isinstance(target, (ast.Tuple, ast.List)):
        for each in target.elts:
            yield from _targets(each)
    elif isinstance(target, ast.Starred):
        yield from _targets(target.value)
