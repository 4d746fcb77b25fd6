"""Where the values of a line come from: a run that saw some of them has not seen what the others are."""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


@lru_cache(maxsize=4)
def _tree(text: str) -> ast.Module:
    return ast.parse(text)


def fed_by(text: str, row: int) -> list[int]:
    """The rows that assign what is read in a row, in the same function, and those that return what it calls by name.

    Of a row in a loop, only those in the loop: what comes before it is decided once, and does not turn in later passes.
    """
    try:
        tree = _tree(text)
    except (SyntaxError, ValueError, RecursionError):
        return []
    body = _around(tree, row)
    here = [node for node in _own(body) if isinstance(node, ast.stmt) and node.lineno <= row <= (node.end_lineno or 0)]
    if not here:
        return []
    statement = max(here, key=lambda node: node.lineno)
    read = {node.id for node in _expressions(statement) if isinstance(node, ast.Name)}
    loops = [node for node in here if isinstance(node, (ast.For, ast.AsyncFor, ast.While)) and node is not statement]
    around = min(loops, key=lambda node: node.lineno, default=body)
    found = {
        node.lineno
        for node in _own(around)
        if isinstance(node, ast.stmt)
        and node is not statement
        and read & {each.id for each in _targets(node) if isinstance(each, ast.Name)}
    }
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name in read:
            found |= {each.lineno for each in _own(node) if isinstance(each, ast.Return)}
    return sorted(found)


def _around(tree: ast.Module, row: int) -> ast.AST:
    """The innermost function that a row is in; the file where it is in none."""
    inside = [
        node
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.lineno < row <= (node.end_lineno or 0)
    ]
    return max(inside, key=lambda node: node.lineno, default=tree)


def _own(body: ast.AST) -> Iterator[ast.AST]:
    """What is in a body, and in no function within it."""
    waiting = list(ast.iter_child_nodes(body))
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, FUNCTIONS):
            waiting.extend(ast.iter_child_nodes(node))


def _expressions(statement: ast.stmt) -> Iterator[ast.AST]:
    """The expressions of a statement, without those of the statements in it."""
    waiting = [each for each in ast.iter_child_nodes(statement) if not isinstance(each, ast.stmt)]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(each for each in ast.iter_child_nodes(node) if not isinstance(each, ast.stmt))


def _targets(node: ast.stmt) -> list[ast.expr]:
    if isinstance(node, ast.Assign):
        return node.targets
    return [node.target] if isinstance(node, (ast.AugAssign, ast.AnnAssign)) else []
