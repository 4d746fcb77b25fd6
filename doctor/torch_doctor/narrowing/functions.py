"""In which function or class a row of source lies."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.sources.source import SourceFile

Stretch = tuple[int, int, str]


class Functions:
    """The functions and classes of a file; one that cannot be parsed has none."""

    def __init__(self, source: SourceFile) -> None:
        try:
            tree = ast.parse(source.text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            self._stretches: list[Stretch] = []
        else:
            self._stretches = list(_stretches(tree, ""))

    def around(self, row: int) -> str:
        """The qualified name of the innermost one around a row of the text; "" where there is none."""
        return next((name for first, last, name in reversed(self._stretches) if first <= row <= last), "")


def _stretches(tree: ast.AST, around: str) -> Iterator[Stretch]:
    """Each with its rows, decorators included, and its name; after those around it."""
    waiting = [(tree, around)]
    while waiting:
        node, name = waiting.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            name = f"{name}.{node.name}" if name else node.name
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            yield first, node.end_lineno or node.lineno, name
        waiting += [
            (child, name)
            for child in ast.iter_child_nodes(node)
            if isinstance(child, (ast.stmt, ast.excepthandler, ast.match_case))
        ]
