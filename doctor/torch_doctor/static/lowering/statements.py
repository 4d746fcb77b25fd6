"""Lowers statements."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from torch_doctor.static import program as p
from torch_doctor.static.lowering import functions
from torch_doctor.static.lowering.operators import OPERATORS

if TYPE_CHECKING:
    from torch_doctor.static.lowering.context import Lowering, Statements


def _assign(low: Lowering, node: ast.Assign, out: list[p.Stmt]) -> None:
    if len(node.targets) == 1 and isinstance(node.targets[0], (ast.Name, ast.Attribute)):
        value = node.value
        if isinstance(value, ast.BinOp) and _same(value.left, node.targets[0]):
            out.append(_augmented(low, node, node.targets[0], value.op, value.right, rebinds=True))
            return
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add) and _same(value.right, node.targets[0]):
            out.append(_augmented(low, node, node.targets[0], value.op, value.left, rebinds=True))
            return
    value_ = low.expr(node.value)
    out.append(p.Assign(low.at(node), tuple(low.expr(target) for target in node.targets), value_))


def _augmented(
    low: Lowering, node: ast.stmt, target: ast.expr, op: ast.operator, value: ast.expr, *, rebinds: bool
) -> p.Augment:
    return p.Augment(low.at(node), low.expr(target), OPERATORS[type(op)], low.expr(value), rebinds=rebinds)


def _augassign(low: Lowering, node: ast.AugAssign, out: list[p.Stmt]) -> None:
    out.append(_augmented(low, node, node.target, node.op, node.value, rebinds=False))


def _annassign(low: Lowering, node: ast.AnnAssign, out: list[p.Stmt]) -> None:
    if isinstance(node.target, ast.Name):
        out.append(p.Annotate(low.at(node), node.target.id))
    if node.value is not None:
        out.append(p.Assign(low.at(node), (low.expr(node.target),), low.expr(node.value)))


def _evaluate(low: Lowering, node: ast.Expr, out: list[p.Stmt]) -> None:
    if not isinstance(node.value, ast.Constant) or node.value.value is ...:
        out.append(p.Evaluate(low.at(node), low.expr(node.value)))


def _if(low: Lowering, node: ast.If, out: list[p.Stmt]) -> None:
    out.append(p.If(low.at(node), low.expr(node.test), low.block(node.body), low.block(node.orelse)))


def _head(low: Lowering, node: ast.For | ast.AsyncFor | ast.While, last: ast.expr) -> p.At:
    first, end = low.at(node), low.at(last)
    return (first[0], first[1], end[2], end[3])


def _for(low: Lowering, node: ast.For, out: list[p.Stmt]) -> None:
    over, target = low.expr(node.iter), low.expr(node.target)
    body, other = low.block(node.body), low.block(node.orelse)
    out.append(p.For(low.at(node), _head(low, node, node.iter), target, over, body, other))


def _while(low: Lowering, node: ast.While, out: list[p.Stmt]) -> None:
    test = low.expr(node.test)
    body, other = low.block(node.body), low.block(node.orelse)
    out.append(p.While(low.at(node), _head(low, node, node.test), test, body, other))


def _try(low: Lowering, node: Any, out: list[p.Stmt]) -> None:
    body = low.block(node.body)
    handlers = tuple(p.Handler(handler.name, low.block(handler.body), _caught(handler)) for handler in node.handlers)
    out.append(p.Try(low.at(node), body, handlers, low.block(node.orelse), low.block(node.finalbody)))


def _caught(handler: ast.ExceptHandler) -> tuple[str, ...]:
    """The exceptions that a handler names, as far as they are names."""
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return tuple(kind.id for kind in kinds if isinstance(kind, ast.Name))


def _with(low: Lowering, node: ast.With, out: list[p.Stmt]) -> None:
    contexts = [
        (low.expr(item.context_expr), None if item.optional_vars is None else low.expr(item.optional_vars))
        for item in node.items
    ]
    body = low.block(node.body)
    for context, target in reversed(contexts):
        body = (p.With(low.at(node), context, target, body),)
    out.extend(body)


def _return(low: Lowering, node: ast.Return, out: list[p.Stmt]) -> None:
    out.append(p.Return(low.at(node), None if node.value is None else low.expr(node.value)))


def _raise(low: Lowering, node: ast.Raise, out: list[p.Stmt]) -> None:
    out.append(p.Raise(low.at(node)))


def _break(low: Lowering, node: ast.Break, out: list[p.Stmt]) -> None:
    out.append(p.Break(low.at(node)))


def _continue(low: Lowering, node: ast.Continue, out: list[p.Stmt]) -> None:
    out.append(p.Continue(low.at(node)))


def _assert(low: Lowering, node: ast.Assert, out: list[p.Stmt]) -> None:
    out.append(p.Assert(low.at(node), low.expr(node.test)))


def _delete(low: Lowering, node: ast.Delete, out: list[p.Stmt]) -> None:
    out.append(p.Delete(low.at(node), tuple(low.expr(target) for target in node.targets)))


def _global(low: Lowering, node: ast.Global, out: list[p.Stmt]) -> None:
    out.append(p.Outer(low.at(node), tuple(node.names), is_global=True))


def _nonlocal(low: Lowering, node: ast.Nonlocal, out: list[p.Stmt]) -> None:
    out.append(p.Outer(low.at(node), tuple(node.names), is_global=False))


def _import(low: Lowering, node: ast.Import, out: list[p.Stmt]) -> None:
    imports = [p.Import(low.at(node), alias.name, alias.asname) for alias in node.names]
    low.imports += imports
    out += imports


def _import_from(low: Lowering, node: ast.ImportFrom, out: list[p.Stmt]) -> None:
    names = tuple((alias.name, alias.asname or alias.name) for alias in node.names)
    module, level = low.module(node)
    taken = p.ImportFrom(low.at(node), module, level, names)
    low.imports.append(taken)
    out.append(taken)


def _define(low: Lowering, node: ast.FunctionDef, out: list[p.Stmt]) -> None:
    function = functions.lower_function(low, node, node.name, node.args, node.body, node.decorator_list)
    out.append(p.Define(low.at(node), function))


def _class(low: Lowering, node: ast.ClassDef, out: list[p.Stmt]) -> None:
    bases = tuple(low.expr(base) for base in node.bases)
    decorators = tuple(low.expr(decorator) for decorator in node.decorator_list)
    keywords = tuple((each.arg, low.expr(each.value)) for each in node.keywords)
    out.append(p.Class(low.at(node), node.name, bases, low.block(node.body), decorators, keywords))


def _match(low: Lowering, node: ast.Match, out: list[p.Stmt]) -> None:
    subject = low.expr(node.subject)
    other: tuple[p.Stmt, ...] = ()
    for case in reversed(node.cases):
        at = low.at(case.pattern)
        test = _pattern(low, case.pattern, subject, at)
        if case.guard is not None:
            test = p.Logic(at, "and", (test, low.expr(case.guard)))
        names = [
            child.name
            for child in ast.walk(case.pattern)
            if isinstance(child, (ast.MatchAs, ast.MatchStar)) and child.name
        ]
        whole = case.pattern.name if isinstance(case.pattern, ast.MatchAs) and _is_read_twice(subject) else None
        bound: tuple[p.Stmt, ...] = tuple(
            p.Assign(at, (p.Name(at, name),), subject if name == whole else p.Opaque(at)) for name in names
        )
        other = (p.If(at, test, bound + low.block(case.body), other),)
    out.extend(other)


def _is_read_twice(subject: p.Expr) -> bool:
    """Whether a name or an attribute is matched: what it reads is the same once more."""
    while isinstance(subject, p.Attribute):
        subject = subject.value
    return isinstance(subject, p.Name)


def _pattern(low: Lowering, pattern: ast.pattern, subject: p.Expr, at: p.At) -> p.Expr:
    if isinstance(pattern, ast.MatchValue):
        return p.Compare(at, "==", subject, low.expr(pattern.value))
    if isinstance(pattern, ast.MatchSingleton):
        return p.Compare(at, "is", subject, p.Const(at, pattern.value))
    if isinstance(pattern, ast.MatchAs) and pattern.pattern is None:
        return p.Const(at, value=True)
    if isinstance(pattern, ast.MatchOr):
        return p.Logic(at, "or", tuple(_pattern(low, part, subject, at) for part in pattern.patterns))
    return p.Opaque(at)


def _same(left: ast.expr, right: ast.expr) -> bool:
    """Whether two simple expressions are spelled alike (names and attributes of names)."""
    if isinstance(left, ast.Name) and isinstance(right, ast.Name):
        return left.id == right.id
    if isinstance(left, ast.Attribute) and isinstance(right, ast.Attribute):
        return left.attr == right.attr and _same(left.value, right.value)
    return False


STATEMENTS: Statements = {
    ast.Assign: _assign,
    ast.AugAssign: _augassign,
    ast.AnnAssign: _annassign,
    ast.Expr: _evaluate,
    ast.If: _if,
    ast.For: _for,
    ast.AsyncFor: _for,
    ast.While: _while,
    ast.Try: _try,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Return: _return,
    ast.Raise: _raise,
    ast.Break: _break,
    ast.Continue: _continue,
    ast.Assert: _assert,
    ast.Delete: _delete,
    ast.Global: _global,
    ast.Nonlocal: _nonlocal,
    ast.Import: _import,
    ast.ImportFrom: _import_from,
    ast.FunctionDef: _define,
    ast.AsyncFunctionDef: _define,
    ast.ClassDef: _class,
    ast.Match: _match,
}
if hasattr(ast, "TryStar"):
    STATEMENTS[ast.TryStar] = _try
