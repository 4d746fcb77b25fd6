"""What the syntax of a function or an expression shows: its variables, its calls, its statements."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torch_doctor.static.quiet.outline import targets

if TYPE_CHECKING:
    from collections.abc import Iterator

ALL = 99
"""More functions than lie in each other."""


def parsed(text: str) -> ast.stmt | None:
    """The function or class that a text defines; None where it cannot be parsed by itself."""
    try:
        return ast.parse(text).body[0]
    except (SyntaxError, ValueError, IndexError):
        return None


def comprehended(node: ast.expr) -> Iterator[ast.Name]:
    """The variables of the comprehensions in an expression."""
    for each in ast.walk(node):
        if isinstance(each, ast.comprehension):
            yield from (name for name in ast.walk(each.target) if isinstance(name, ast.Name))


def changed_by(node: ast.Call) -> ast.expr:
    """What `setattr` changes, as if an attribute of it were assigned."""
    return ast.Attribute(node.args[0], "") if node.args else node


def flat(target: ast.expr) -> Iterator[ast.expr]:
    """The targets in a target, several of which may be assigned at once."""
    if isinstance(target, (ast.Tuple, ast.List)):
        for each in target.elts:
            yield from flat(each)
    else:
        yield target.value if isinstance(target, ast.Starred) else target


def calls(node: ast.expr) -> Iterator[ast.Call]:
    """The calls in an expression, without those in a `lambda`."""
    waiting: list[ast.AST] = [node]
    while waiting:
        each = waiting.pop()
        if isinstance(each, ast.Call):
            yield each
        if not isinstance(each, ast.Lambda):
            waiting.extend(ast.iter_child_nodes(each))


def variables(node: ast.FunctionDef | ast.AsyncFunctionDef) -> frozenset[str]:
    """The names of a function's own variables, and of the functions in it."""
    names = set[str]()
    outer = set[str]()
    for each in ast.walk(node):
        if isinstance(each, ast.arg):
            names.add(each.arg)
        elif isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
            names.add(each.id)
        elif isinstance(each, (ast.FunctionDef, ast.ClassDef)) and each is not node:
            names.add(each.name)
        elif isinstance(each, ast.alias):
            names.add((each.asname or each.name).partition(".")[0])
        elif isinstance(each, ast.ExceptHandler) and each.name:
            names.add(each.name)
        elif isinstance(each, ast.Global):
            outer.update(each.names)
    return frozenset(names - outer)


def assigned(node: ast.AST) -> dict[str, list[ast.AST]]:
    """What a function assigns to its variables, and the functions in it by name."""
    found: dict[str, list[ast.AST]] = {}
    for each in ast.walk(node):
        if isinstance(each, ast.FunctionDef) and each is not node:
            found.setdefault(each.name, []).append(each)
        value: ast.expr | None = getattr(each, "value", None)
        for target in targets(each):
            if value is not None and isinstance(target, ast.Name):
                found.setdefault(target.id, []).append(value)
    return found


def given(node: ast.FunctionDef | ast.AsyncFunctionDef) -> frozenset[str]:
    """The variables of a function that depend on its arguments."""
    functions = (each for each in ast.walk(node) if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef)))
    given = {each.arg for function in functions for each in ast.walk(function.args) if isinstance(each, ast.arg)}
    before = 0
    while before < len(given):
        before = len(given)
        for each in ast.walk(node):
            source: ast.AST | None = getattr(each, "iter", None) or getattr(each, "value", None)
            taken = targets(each)
            if taken and source is not None and any(getattr(name, "id", "") in given for name in ast.walk(source)):
                given |= {name.id for target in taken for name in ast.walk(target) if isinstance(name, ast.Name)}
    return frozenset(given)


def inside(node: ast.AST, *, deeper: int) -> Iterator[ast.stmt]:
    """The statements in a function, and in the functions in it, `deeper` of which lie in each other."""
    for each in ast.iter_child_nodes(node):
        if isinstance(each, ast.stmt):
            yield each
        if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from inside(each, deeper=deeper - 1) if deeper else ()
        elif not isinstance(each, ast.expr):
            yield from inside(each, deeper=deeper)
