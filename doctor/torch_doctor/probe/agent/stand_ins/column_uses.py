"""What the user's code says of the values of a column: with what it compares them, and that there are few of them."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any

from .source import spelled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .source import Sources

EQUALITY = (ast.Eq, ast.NotEq, ast.In, ast.NotIn)
LISTING = frozenset({"isin", "map", "replace", "eq", "ne"})
"""Methods of a column that are given values of it, or a dictionary by them."""
COUNTING = frozenset(
    {"unique", "nunique", "value_counts", "factorize", "fit_transform", "get_dummies", "to_categorical"}
)
"""Functions of the few values that a column has."""
QUERY = r"\b{name}\b\s*(?:==|!=)\s*(?:'([^']*)'|\"([^\"]*)\"|(-?\d+)\b)"
MOST = 32


def values_named(sources: Sources, name: str) -> list[Any]:
    """The values with which the code compares those of a column, or for which it has others."""
    found: dict[Any, None] = {}
    for tree in sources.trees():
        for node in ast.walk(tree):
            for value in (each for part in _beside(node, name) for each in _values(part, tree)):
                if isinstance(value, (str, int)) and not isinstance(value, bool):
                    found.setdefault(value)
    return list(found)[:MOST]


def has_few(sources: Sources, name: str) -> bool:
    """Whether the code takes the values of a column for classes: it numbers or counts them, or splits rows by them."""
    for tree in sources.trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.keyword) and node.arg == "stratify" and _is_column(node.value, name):
                return True
            if isinstance(node, ast.Call) and spelled(node) in COUNTING:
                owner = [node.func.value] if isinstance(node.func, ast.Attribute) else []
                if any(_is_column(each, name) for each in (*owner, *node.args)):
                    return True
    return False


def _is_column(node: ast.AST, name: str) -> bool:
    """Whether an expression is a column, as it is or after a method of it: `df["a"]`, `df.a`, `df["a"].str.lower()`."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        node = node.func.value
        node = node.value if isinstance(node, ast.Attribute) and node.attr == "str" else node
    if isinstance(node, ast.Attribute):
        return node.attr in (name, "values") and (node.attr == name or _is_column(node.value, name))
    if not isinstance(node, ast.Subscript):
        return False
    keys = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return any(isinstance(each, ast.Constant) and each.value == name for each in keys)


def _beside(node: ast.AST, name: str) -> Iterator[ast.AST]:
    """What stands beside a column where it is compared or looked up."""
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], EQUALITY):
        sides = (node.left, node.comparators[0])
        if any(_is_column(each, name) for each in sides):
            yield from (each for each in sides if not _is_column(each, name))
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr in LISTING and _is_column(node.func.value, name):
            yield from node.args[:1]
        elif node.func.attr == "query" and node.args:
            text = node.args[0].value if isinstance(node.args[0], ast.Constant) else ""
            for single, double, number in re.findall(QUERY.format(name=re.escape(name)), str(text)):
                yield ast.Constant(int(number) if number else single or double)


def _values(node: ast.AST, tree: ast.Module, *, deep: bool = True) -> Iterator[Any]:
    """The constants of an expression, of the keys of a dictionary, and of what a name was given."""
    if isinstance(node, ast.Constant):
        yield node.value
    elif isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        yield from (each.value for each in node.elts if isinstance(each, ast.Constant))
    elif isinstance(node, ast.Dict):
        yield from (each.value for each in node.keys if isinstance(each, ast.Constant))
    elif deep and (isinstance(node, ast.Subscript) or (isinstance(node, ast.Attribute) and node.attr == "get")):
        yield from _values(node.value, tree)  # one of several: `names[0]`, `map(classes.get)`
    elif isinstance(node, (ast.Name, ast.Attribute)) and deep:
        for each in ast.walk(tree):
            if isinstance(each, ast.Assign) and any(spelled(target) == spelled(node) for target in each.targets):
                yield from _values(each.value, tree, deep=False)
