"""Settings whose value the script refuses, although it names others that it takes."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torch_doctor.probe.lessons.lesson import Lesson

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.probe.lessons.lesson import Failure

IS, IS_NOT = (ast.Eq, ast.In), (ast.NotEq, ast.NotIn)


def read(failure: Failure) -> Lesson | None:
    """The first value that the tests around a `raise` take of a setting."""
    if not failure.line.startswith("raise") or not failure.end.frames:
        return None
    site = failure.end.frames[-1].site
    for expression, values in _wanted(failure.text(site.path), site.row):
        refused = failure.terms.get(ast.unparse(expression), ...)
        name = expression.attr
        if refused in values or not isinstance(refused, (str, int, type(None))) or failure.knows("argument", name):
            continue
        return Lesson("argument", name, values[0], f"`{ast.unparse(expression)}` is {values[0]!r}")
    return None


def _wanted(text: str, row: int) -> Iterator[tuple[ast.Attribute, list[str | int]]]:
    """The attributes that the tests which lead to a line compare, with the values that lead elsewhere."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return
    found: dict[str, tuple[ast.Attribute, list[str | int]]] = {}
    for node in ast.walk(tree):
        if not isinstance(node, ast.If):
            continue
        kinds = IS if _holds(node.orelse, row) else IS_NOT if _holds(node.body, row) else ()
        for each in ast.walk(node.test):
            if (
                isinstance(each, ast.Compare)
                and isinstance(each.left, ast.Attribute)
                and isinstance(each.ops[0], kinds)
            ):
                values = list(_constants(each.comparators[0]))
                found.setdefault(ast.unparse(each.left), (each.left, []))[1].extend(values)
    yield from (each for each in found.values() if each[1])


def _holds(body: list[ast.stmt], row: int) -> bool:
    return bool(body) and body[0].lineno <= row <= (body[-1].end_lineno or 0)


def _constants(node: ast.expr) -> Iterator[str | int]:
    parts = node.elts if isinstance(node, (ast.List, ast.Tuple, ast.Set)) else [node]
    for part in parts:
        if isinstance(part, ast.Constant) and type(part.value) in (str, int):
            yield part.value  # type: ignore[misc]  # the types are tested
