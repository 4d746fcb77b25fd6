"""Comprehensions over one and the same thing: their elements belong together, one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch_doctor.static import program as p
from torch_doctor.static.knowledge import Knowledge
from torch_doctor.static.program.walking import walk
from torch_doctor.static.state import per_run
from torch_doctor.static.values import Const, Making, Plain, Sequence, Tensor, Value, compound, fresh_symbol, symbol_of

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Symbol


class Aligned(Knowledge):
    """What comprehensions go through, with the item that stands for all of it; what identifies it is kept alive."""

    items: dict[tuple[Any, ...], tuple[Value, object]] = per_run(dict)


def item(run: Run, over: p.Expr, found: Value) -> Value:
    """The item of a comprehension that is inside no other: the same one as in an earlier comprehension over the same thing."""
    if not isinstance(found, Plain):
        return found
    if isinstance(over, p.Name):
        value = run.resolve(run.evaluate(over))
        if isinstance(value, Sequence):
            return _kept(run, ("items", id(value.content)), found, value.content)
        return _kept(run, ("value", symbol_of(value)), found) if isinstance(value, Plain) else found
    simple = (
        isinstance(over, p.Call) and isinstance(over.func, p.Name) and over.func.id == "range" and not over.keywords
    )
    if not simple or not isinstance(over, p.Call) or not all(map(_is_simple, over.args)):
        return found
    return _kept(run, ("range", *(symbol_of(run.evaluate(each)) for each in over.args)), found)


def _kept(run: Run, key: tuple[Any, ...], found: Value, alive: object = None) -> Value:
    return run.of(Aligned).items.setdefault(key, (found, alive))[0]


def _is_simple(node: p.Expr) -> bool:
    """Whether evaluating an expression again has no effect: names, numbers, arithmetic, and lengths of names."""
    if isinstance(node, p.Call):
        length = isinstance(node.func, p.Name) and node.func.id == "len" and not node.keywords
        return length and all(isinstance(each, p.Name) for each in node.args)
    if isinstance(node, p.Operation):
        return all(map(_is_simple, node.operands))
    return isinstance(node, (p.Name, p.Const)) and not any(isinstance(each, p.Call) for each in walk(node))


def bound(value: Value) -> Symbol:
    """What identifies a bound of a slice: of an item of a tensor, the tensor, so that those of two comprehensions are alike."""
    number = 0
    while isinstance(value, Tensor) and isinstance(value.meta, Making) and value.meta.name in ("+", "-"):
        left, right = (*value.meta.args, None)[:2]
        by = right.value if isinstance(right, Const) else None
        if left is None or type(by) is not int:
            break
        number += by if value.meta.name == "+" else -by
        value = left
    made = value.meta if isinstance(value, Tensor) else None
    if not isinstance(made, Making) or made.name != "unbind":
        return symbol_of(value) if not number else fresh_symbol()
    whole = made.args[0]
    if not isinstance(whole, Tensor) or not isinstance(whole.meta, Making):
        return fresh_symbol()
    each: Symbol = ("each", whole.meta)
    return compound("+", each, ("const", number)) if number else each
