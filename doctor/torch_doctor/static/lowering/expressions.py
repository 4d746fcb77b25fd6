"""Lowers expressions."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torch_doctor.static import program as p
from torch_doctor.static.lowering import functions
from torch_doctor.static.lowering.operators import OPERATORS

if TYPE_CHECKING:
    from torch_doctor.static.lowering.context import Expressions, Lowering

_COMPREHENSIONS = {ast.ListComp: "list", ast.SetComp: "set", ast.GeneratorExp: "generator"}
_DISPLAYS = {ast.List: "list", ast.Tuple: "tuple", ast.Set: "set"}


def _constant(low: Lowering, node: ast.Constant) -> p.Expr:
    return p.Const(low.at(node), node.value)


def _name(low: Lowering, node: ast.Name) -> p.Expr:
    return p.Name(low.at(node), node.id)


def _attribute(low: Lowering, node: ast.Attribute) -> p.Expr:
    if name := _dotted(node.value):
        uses = low.functions[-1][0].setdefault(name, set())
        uses.add(node.attr)
        if isinstance(node.ctx, ast.Store):
            uses.add(f"{node.attr}=")
    return p.Attribute(low.at(node), low.expr(node.value), node.attr)


def _dotted(node: ast.expr) -> str:
    """A name, or an attribute of a name, in words; "" for anything else."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def _call(low: Lowering, node: ast.Call) -> p.Expr:
    if isinstance(node.func, ast.Name):
        low.functions[-1][1].add(node.func.id)
    func = low.expr(node.func)
    if isinstance(node.func, ast.Attribute) and (name := _dotted(node.func.value)):
        low.functions[-1][0][name].add(f"{node.func.attr}(...)" if node.args else f"{node.func.attr}()")
    args = tuple(low.expr(arg) for arg in node.args)
    return p.Call(low.at(node), func, args, tuple((k.arg, low.expr(k.value)) for k in node.keywords))


def _index(low: Lowering, node: ast.Subscript) -> p.Expr:
    return p.Index(low.at(node), low.expr(node.value), low.expr(node.slice))


def _slice(low: Lowering, node: ast.Slice) -> p.Expr:
    parts = [None if part is None else low.expr(part) for part in (node.lower, node.upper, node.step)]
    return p.Slice(low.at(node), *parts)


def _binary(low: Lowering, node: ast.BinOp) -> p.Expr:
    return p.Operation(low.at(node), OPERATORS[type(node.op)], (low.expr(node.left), low.expr(node.right)))


def _unary(low: Lowering, node: ast.UnaryOp) -> p.Expr:
    if isinstance(node.op, ast.Not):
        return p.Logic(low.at(node), "not", (low.expr(node.operand),))
    if isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        value = node.operand.value
        if isinstance(value, (int, float)):
            return p.Const(low.at(node), -value)
    return p.Operation(low.at(node), OPERATORS[type(node.op)], (low.expr(node.operand),))


def _compare(low: Lowering, node: ast.Compare) -> p.Expr:
    at = low.at(node)
    operands = [low.expr(node.left), *(low.expr(right) for right in node.comparators)]
    pairs = [
        p.Compare(at, OPERATORS[type(op)], left, right)
        for op, left, right in zip(node.ops, operands, operands[1:], strict=False)
    ]
    return pairs[0] if len(pairs) == 1 else p.Logic(at, "and", tuple(pairs))


def _logic(low: Lowering, node: ast.BoolOp) -> p.Expr:
    op = "and" if isinstance(node.op, ast.And) else "or"
    return p.Logic(low.at(node), op, tuple(low.expr(value) for value in node.values))


def _choice(low: Lowering, node: ast.IfExp) -> p.Expr:
    return p.Choice(low.at(node), low.expr(node.test), low.expr(node.body), low.expr(node.orelse))


def _display(low: Lowering, node: ast.List | ast.Tuple | ast.Set) -> p.Expr:
    return p.Display(low.at(node), _DISPLAYS[type(node)], tuple(low.expr(item) for item in node.elts))


def _dict(low: Lowering, node: ast.Dict) -> p.Expr:
    pairs = [
        (None if key is None else low.expr(key), low.expr(value))
        for key, value in zip(node.keys, node.values, strict=True)
    ]
    return p.Dict(low.at(node), tuple(pairs))


def _clauses(low: Lowering, generators: list[ast.comprehension]) -> tuple[p.Clause, ...]:
    return tuple(
        p.Clause(low.expr(g.target), low.expr(g.iter), tuple(low.expr(test) for test in g.ifs)) for g in generators
    )


def _comprehension(low: Lowering, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> p.Expr:
    kind = _COMPREHENSIONS[type(node)]
    return p.Comprehension(low.at(node), kind, None, low.expr(node.elt), _clauses(low, node.generators))


def _dict_comprehension(low: Lowering, node: ast.DictComp) -> p.Expr:
    clauses = _clauses(low, node.generators)
    return p.Comprehension(low.at(node), "dict", low.expr(node.key), low.expr(node.value), clauses)


def _text(low: Lowering, node: ast.JoinedStr) -> p.Expr:
    at = low.at(node)
    outer, low.fixed = low.fixed, at
    values = [part for part in node.values if isinstance(part, ast.FormattedValue)]
    parts = tuple(low.expr(part.value) for part in values)
    formats = tuple("" if part.format_spec is None else ast.unparse(part.format_spec) for part in values)
    low.fixed = outer
    layout = tuple(str(part.value) if isinstance(part, ast.Constant) else None for part in node.values)
    return p.Text(at, parts, layout, formats)


def _star(low: Lowering, node: ast.Starred) -> p.Expr:
    return p.Star(low.at(node), low.expr(node.value))


def _walrus(low: Lowering, node: ast.NamedExpr) -> p.Expr:
    at = low.at(node)
    return p.Walrus(at, p.Name(low.at(node.target), node.target.id), low.expr(node.value))


def _yield(low: Lowering, node: ast.Yield) -> p.Expr:
    low.functions[-1][2][0] = True
    return p.Yield(low.at(node), None if node.value is None else low.expr(node.value), many=False)


def _yield_from(low: Lowering, node: ast.YieldFrom) -> p.Expr:
    low.functions[-1][2][0] = True
    return p.Yield(low.at(node), low.expr(node.value), many=True)


def _await(low: Lowering, node: ast.Await) -> p.Expr:
    return low.expr(node.value)


def _lambda(low: Lowering, node: ast.Lambda) -> p.Expr:
    return functions.lower_function(low, node, "<lambda>", node.args, node.body, [])


EXPRESSIONS: Expressions = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Call: _call,
    ast.Subscript: _index,
    ast.Slice: _slice,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.Compare: _compare,
    ast.BoolOp: _logic,
    ast.IfExp: _choice,
    ast.List: _display,
    ast.Tuple: _display,
    ast.Set: _display,
    ast.Dict: _dict,
    ast.ListComp: _comprehension,
    ast.SetComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.DictComp: _dict_comprehension,
    ast.JoinedStr: _text,
    ast.Starred: _star,
    ast.NamedExpr: _walrus,
    ast.Yield: _yield,
    ast.YieldFrom: _yield_from,
    ast.Await: _await,
    ast.Lambda: _lambda,
}
