"""Executes assignments, plain and augmented."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static import dispatch
from torch_doctor.static import program as p
from torch_doctor.static.language import opaque_calls, operators, targets, unpacking
from torch_doctor.static.training import (
    construction,
    container_methods,
    keeping,
    loading,
    parameters,
    roles,
    splitting,
    sums,
)
from torch_doctor.static.values import (
    Call,
    Const,
    Content,
    Number,
    Optimizer,
    Plain,
    Sequence,
    Tensor,
    Unknown,
    Value,
    compound,
)
from torch_doctor.trace.words import Retention

if TYPE_CHECKING:
    from torch_doctor.static.run import Run

JOINS = frozenset(f"torch.{name}" for name in ("cat", "concat", "concatenate", "stack", "hstack", "vstack"))


def _assign(run: Run, node: p.Assign) -> bool:
    before = len(run.trace.events)
    value = run.evaluate(node.value)
    if isinstance(value, Plain):
        value = loading.bound(run, node, value)
    if isinstance(node.value, p.Call) and all(isinstance(t, p.Name) and t.id == "_" for t in node.targets):
        opaque_calls.dropped(run, before, node.value)
    for observe in run.observers.assigned:
        observe(run, node, value)
    for target in node.targets:
        if isinstance(value, Optimizer) and isinstance(target, (p.Name, p.Attribute)):
            construction.called(run, value, run.text(target))
        named = _named(run, value, target, node.value)
        if isinstance(target, p.Name) and isinstance(named, Tensor) and named.origin.operation in JOINS:
            named = _concatenated(run, node, target, named)
        targets.bind(run, target, named, node)
    return True


def _named(run: Run, value: Value, target: p.Expr, source: p.Expr) -> Value:
    """The value, or its parts, with the roles that use and names tell."""
    if not isinstance(target, p.Display) or not isinstance(value, Unknown) or value.holds or value.flow.forwards:
        return roles.named(run, value, target, source)
    if any(isinstance(each, p.Star) for each in target.items):
        return value
    parts = unpacking.unpack(run, value, target.items, source)
    named = tuple(roles.named(run, part, each, source) for part, each in zip(parts, target.items, strict=True))
    if all(part is each for part, each in zip(parts, named, strict=True)):
        return value
    return run.own(Sequence("tuple", Content(named), run.site(source), run.frame.what))


def _concatenated(run: Run, node: p.Assign, target: p.Name, value: Tensor) -> Value:
    """`outputs = torch.cat([outputs, new])`: the name keeps what it had and more."""
    if run.modules_called or not isinstance(node.value, p.Call) or not _reads(node.value, target.id):
        return value
    holder = run.frame.holder(target.id)
    old = holder.fields.get(target.id) if holder is not None else None
    carried = old.flow.retained if isinstance(old, Value) else frozenset()
    bounded = targets.is_emptied(run, target, carried)
    return keeping.keep(run, value, Retention.CONCATENATED, target.id, carried, node, bounded=bounded)


def _augment(run: Run, node: p.Augment) -> bool:
    old = run.evaluate(node.target)
    value = run.evaluate(node.value)
    old = run.resolve(old)
    if isinstance(old, Sequence):
        container_methods.extend_sequence(run, old, value, node, run.text(node.target))
        if not node.rebinds:
            return True
        targets.bind(run, node.target, old, node)
        return True
    if parameters.updates_by_hand(run, node, old, value):
        return True
    for observe in () if node.rebinds else run.observers.changed:
        observe(run, old, Call((value,), {}, node, f"{run.text(node.target)}.__iadd__"))
    result = operators.operate(run, node.op, (old, value), node)
    if not node.rebinds and isinstance(old, Plain) and isinstance(result, Plain):
        result = _still(old, result)
    if run.loop_depth and isinstance(result, Const) and not isinstance(result.value, str):
        result = Plain()  # a counter: two passes stand for many, so its value is not what it was counted to
    if node.op in "+-" and value.flow.graph is not False and not run.modules_called:
        plain = isinstance(old, (Const, Plain)) or (isinstance(old, (Tensor, Unknown)) and old.flow.graph is False)
        if plain or old.flow.retained:
            carries = old.flow.retained
            bounded = targets.is_emptied(run, node.target, carries)
            holder = run.text(node.target)
            name = run.text(node.value)
            retained = keeping.keep(run, value, Retention.ACCUMULATED, holder, carries, node, name, bounded=bounded)
            result = operators.operate(run, node.op, (old, retained), node)
    targets.bind(run, node.target, sums.summed(run, old, value, result, node), node)
    return True


def _still(old: Plain, result: Plain) -> Plain:
    """What an array is that changes in place: the array that it was, with other numbers."""
    if splitting.stem(old.symbol)[0] != "array":
        return result
    symbol = compound("[]", old.symbol, result.symbol)
    return Number(result.flow, symbol, result.size) if isinstance(result, Number) else Plain(symbol, result.size)


def _reads(node: p.Call, name: str) -> bool:
    """Whether a name is among a call's arguments, on its own or in a list."""
    for argument in node.args:
        parts = argument.items if isinstance(argument, p.Display) else (argument,)
        if any(isinstance(part, p.Name) and part.id == name for part in parts):
            return True
    return False


dispatch.STATEMENTS.update(
    {
        p.Assign: _assign,
        p.Augment: _augment,
    }
)
