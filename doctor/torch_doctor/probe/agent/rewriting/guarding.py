"""Statements that fail before the training begins ask whether the script goes on without them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, TypeVar

from ..hooks import PREFIX, name_of
from .syntax import compiles

if TYPE_CHECKING:
    from collections.abc import Iterator

Added = TypeVar("Added", bound=ast.AST)
DEEPEST = 6  # blocks around a statement: each gets another one, and Python nests no more than twenty
GIVING = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return)
BLOCKS = (ast.With, ast.For, ast.If)
GIVING_UP = (ast.Return, ast.Yield, ast.YieldFrom)
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
DOING = (ast.Call, ast.Subscript, ast.BinOp, ast.Attribute, ast.UnaryOp)
TRAINING = frozenset({"backward", "step", "fit", "zero_grad"})
"""Names of which one is in whatever trains."""


def guard(tree: ast.Module) -> None:
    """`x = load()` → `try: x = load()`, `except: x = instead() if goes_on() else raise`, in a whole file."""
    _guard(tree, 0)


def _guard(node: ast.AST, depth: int) -> None:
    if depth > DEEPEST or any(compiles(each) for each in getattr(node, "decorator_list", ())):
        return
    if isinstance(node, ast.FunctionDef) and (returns := _returns(node)):
        _mark_last(node.body)
        given = {each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)}
        for each in returns:
            each.has_value = isinstance(each.value, ast.Name) and each.value.id in given  # type: ignore[attr-defined]  # ours
    for name, inner in ast.iter_fields(node):
        if not isinstance(inner, list):
            continue
        for each in inner:
            if isinstance(each, (ast.stmt, ast.ExceptHandler, ast.match_case)):
                _guard(each, 0 if isinstance(each, DEFINITIONS) else depth + 1)
        if inner and isinstance(inner[0], ast.stmt) and not (isinstance(node, ast.Try) and name == "body"):
            inner[:] = [part for each in inner for part in _replaced(each)]


def _returns(function: ast.FunctionDef) -> list[ast.Return]:
    """Where a function returns a value."""
    return [each for each in ast.walk(function) if isinstance(each, ast.Return) and each.value is not None]


def _mark_last(body: list[ast.stmt]) -> None:
    """Has a function that gives up at its end, and goes on, give a value as its other ends do."""
    last = body[-1] if body else None
    if isinstance(last, ast.If):
        _mark_last(last.body)
        _mark_last(last.orelse)
    elif isinstance(last, ast.Raise):
        last.is_last = True  # type: ignore[attr-defined]  # ours


def _replaced(statement: ast.stmt) -> Iterator[ast.stmt]:
    """The statement, guarded as a whole or, where it is a loop that trains, in what it goes through."""
    if may_fail(statement):
        yield _guarded(statement)
        return
    if isinstance(statement, ast.For):
        over = statement.iter
        watched = isinstance(over, ast.Call) and _is_hook(over) and len(over.args) > 1
        value = over.args[1] if watched else over  # type: ignore[attr-defined]  # a call
        if any(isinstance(each, DOING) for each in ast.walk(value)):
            taken = _at(value, _call("take"))
            held = _at(value, ast.Expr(_call("hold")))
            held.value.args.append(value)  # type: ignore[attr-defined]  # as above
            if watched:
                over.args[1] = taken  # type: ignore[attr-defined]  # as above
            else:
                statement.iter = taken
            yield _guarded(held)
    yield statement


def _guarded(statement: ast.stmt) -> ast.stmt:
    asked = ast.If(ast.UnaryOp(ast.Not(), _call("goes_on")), [ast.Raise()], [])
    handler = ast.ExceptHandler(ast.Name(name_of("failure"), ast.Load()), None, [asked, *_instead(statement)])
    return ast.copy_location(ast.Try([statement], [_at(statement, handler)], [], []), statement)


def _at(place: ast.stmt | ast.expr, added: Added) -> Added:
    """What is added, with all its parts, where something of the user's stands, unless that was added without a place."""
    for part in ast.walk(added) if hasattr(place, "lineno") else ():
        if "lineno" in part._attributes:
            part.lineno, part.col_offset = place.lineno, place.col_offset  # type: ignore[attr-defined]
            part.end_lineno, part.end_col_offset = place.end_lineno, place.end_col_offset  # type: ignore[attr-defined]
    return added


def _instead(statement: ast.stmt) -> Iterator[ast.stmt]:
    """What is done instead: the names that would have got a value get one that is made up by its use."""
    if isinstance(statement, ast.Return) or hasattr(statement, "is_last"):
        yield ast.Return(_call("instead", 0))
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Yield):
        out = statement.value.value
        yield ast.Expr(ast.Yield(_call("instead", len(out.elts) if isinstance(out, ast.Tuple) else 0)))
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call) and _is_hook(statement.value):
        again = _call("hold")
        again.args.append(_call("instead", 0))
        yield ast.Expr(again)
    elif isinstance(statement, (ast.Assign, ast.AnnAssign)):
        for target in statement.targets if isinstance(statement, ast.Assign) else [statement.target]:
            if _is_simple(target):
                count = len(target.elts) if isinstance(target, (ast.Tuple, ast.List)) else 0
                given: ast.stmt = ast.Assign([_copied(target)], _call("instead", count))
                refused = ast.ExceptHandler(ast.Name("AttributeError", ast.Load()), None, [ast.Pass()])
                holds = any(isinstance(each, ast.Attribute) for each in ast.walk(target))
                yield ast.Try([given], [refused], [], []) if holds else given
    elif isinstance(statement, BLOCKS):
        for name in sorted(_bound(statement)):
            bound: ast.stmt = ast.Assign([ast.Name(name, ast.Store())], _call("instead", 0))
            unbound = ast.ExceptHandler(ast.Name("NameError", ast.Load()), None, [bound])
            yield ast.Try([ast.Expr(ast.Name(name, ast.Load()))], [unbound], [], [])


def may_fail(statement: ast.stmt) -> bool:
    """Whether a statement does something that can fail, and is neither a definition nor a part of training."""
    if isinstance(statement, BLOCKS):
        return not any(isinstance(each, (*GIVING_UP, *DEFINITIONS)) or _trains(each) for each in ast.walk(statement))
    if isinstance(statement, (ast.Raise, ast.Assert)):
        return isinstance(statement, ast.Assert) or statement.exc is not None
    if isinstance(statement, ast.Expr):
        value = statement.value
        given = isinstance(value, ast.Yield) and value.value is not None
        does = isinstance(value, ast.Call) and not _is_hook(value)
        return given or (does and not any(map(_trains, ast.walk(value))))
    if not isinstance(statement, GIVING) or statement.value is None:
        return False
    if isinstance(statement, ast.Return) and isinstance(statement.value, ast.Name):
        return not getattr(statement, "has_value", False)
    parts = list(ast.walk(statement))
    return any(isinstance(each, DOING) for each in parts) and not any(map(_trains, parts))


def _is_hook(call: ast.Call) -> bool:
    """Whether it is one of ours, and not only one that is given the result of a statement of the user's."""
    name = call.func.id if isinstance(call.func, ast.Name) else ""
    return name.startswith(PREFIX) and name != name_of("dropped")


def _trains(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in TRAINING


def _is_simple(target: ast.expr) -> bool:
    """Whether a target can get a value without evaluating what may fail again."""
    if isinstance(target, (ast.Tuple, ast.List)):
        return all(isinstance(each, (ast.Name, ast.Attribute)) and _is_simple(each) for each in target.elts)
    return isinstance(target, ast.Name) or (isinstance(target, ast.Attribute) and bool(_holder(target)))


def _holder(target: ast.Attribute) -> str:
    """The name of what has the attribute, which a hook may look at; empty where it is no name."""
    owner = target.value
    if isinstance(owner, ast.Call) and _is_hook(owner) and owner.args:
        owner = owner.args[-1]
    return owner.id if isinstance(owner, ast.Name) else ""


def _copied(target: ast.expr) -> ast.expr:
    if isinstance(target, (ast.Tuple, ast.List)):
        return ast.Tuple([_copied(each) for each in target.elts], ast.Store())
    if isinstance(target, ast.Attribute):
        return ast.Attribute(ast.Name(_holder(target), ast.Load()), target.attr, ast.Store())
    return ast.Name(target.id, ast.Store())  # type: ignore[attr-defined]  # `_is_simple`


def _bound(statement: ast.stmt) -> set[str]:
    return {each.id for each in ast.walk(statement) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}


def _call(hook: str, *arguments: int) -> ast.Call:
    return ast.Call(ast.Name(name_of(hook), ast.Load()), [ast.Constant(each) for each in arguments], [])
