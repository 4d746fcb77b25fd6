"""Finds the functions in which a test of an attribute decides which of the values at hand is returned, and nothing else."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_AT_HAND = (ast.Name, ast.Attribute, ast.Constant, ast.Tuple, ast.List, ast.Dict, ast.Starred, ast.expr_context)


def leaves_out(function: ast.FunctionDef | ast.AsyncFunctionDef, attribute: str) -> bool:
    """Whether a function reads the attribute only to decide how many of the values at hand it returns.

    So it is where a network returns what all its heads gave, or what the last one gave.
    """
    asked = sum(_reads(node, attribute) for node in ast.walk(function))
    found = [
        sum(_reads(node, attribute) for node in ast.walk(test))
        for test, (one, other) in _choices(function.body)
        if _is_part(_returned(one), _returned(other))
    ]
    return 0 < asked == sum(found)


def _reads(node: ast.AST, attribute: str) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == attribute


def _choices(body: list[ast.stmt]) -> Iterator[tuple[ast.expr, tuple[ast.expr | None, ast.expr | None]]]:
    """The tests of a function, each with what is returned where it holds and where not; None where more is done."""
    for number, statement in enumerate(body):
        if isinstance(statement, ast.If):
            yield statement.test, (_only(statement.body), _only(statement.orelse or body[number + 1 :]))
        if isinstance(statement, ast.Return) and isinstance(statement.value, ast.IfExp):
            yield statement.value.test, (statement.value.body, statement.value.orelse)


def _only(body: list[ast.stmt]) -> ast.expr | None:
    """What a body returns that does nothing else."""
    return body[0].value if len(body) == 1 and isinstance(body[0], ast.Return) else None


def _returned(value: ast.expr | None) -> frozenset[str] | None:
    """The names in an expression that computes nothing; None for any other."""
    nodes = [*ast.walk(value)] if value is not None else []
    if not nodes or not all(isinstance(node, _AT_HAND) for node in nodes):
        return None
    return frozenset(getattr(node, "id", "") or getattr(node, "attr", "") for node in nodes) - {""}


def _is_part(one: frozenset[str] | None, other: frozenset[str] | None) -> bool:
    return one is not None and other is not None and (one <= other or other <= one)
