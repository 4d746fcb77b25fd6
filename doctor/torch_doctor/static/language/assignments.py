"""Executes assignments, plain and augmented."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static import dispatch
from torch_doctor.static import program as p
from torch_doctor.static.domains.rows import holding
from torch_doctor.static.language import counters, operators, targets, unfinished, unpacking
from torch_doctor.static.program.walking import walk
from torch_doctor.static.training import container_methods, sums
from torch_doctor.static.training.checkpoint import loading
from torch_doctor.static.training.data import arrays, loaders
from torch_doctor.static.training.graph import keeping, running_sums
from torch_doctor.static.training.module import written_forwards
from torch_doctor.static.training.unresolved import escaping, roles
from torch_doctor.static.training.update import construction, given_gradients, parameters
from torch_doctor.static.values import (
    Call,
    Const,
    Content,
    Loader,
    Mapping,
    Number,
    Optimizer,
    ParameterValue,
    Params,
    Plain,
    Sequence,
    Tensor,
    Unknown,
    compound,
    held,
)
from torch_doctor.static.values.symbols import CHANGED
from torch_doctor.trace.words import Retention

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Value


def _assign(run: Run, node: p.Assign) -> bool:
    before = len(run.trace.events)
    assigning = run.of(escaping.Assigning)
    around, assigning.node = assigning.node, node
    try:
        value = run.evaluate(node.value)
    finally:
        assigning.node = around
    if isinstance(value, Plain):
        value = loading.bound(run, node, value)
    if isinstance(node.value, p.Call) and all(map(_is_dropped, node.targets)):
        written_forwards.dropped(run, before, node.value)
    for observe in run.observers.assigned:
        observe(run, node, value)
    for target in node.targets:
        if isinstance(target, (p.Name, p.Attribute)):
            if isinstance(value, Optimizer):
                construction.called(run, value, run.text(target))
            elif isinstance(value, Loader):
                loaders.called(run, value, run.text(target))
        named = _named(run, value, target, node.value) if isinstance(value, Unknown) else value
        named = _counted_on(run, target, node.value, named, node)
        named = running_sums.carried_on(run, target, node.value, named, node)
        targets.bind(run, target, named, node)
    return not (isinstance(node.value, p.Call) and unfinished.broken_off(run))


def _is_dropped(target: p.Expr) -> bool:
    """Whether what is assigned to it is not meant to be used."""
    return isinstance(target, p.Name) and target.id == "_"


def _named(run: Run, value: Unknown, target: p.Expr, source: p.Expr) -> Value:
    """The value, or its parts, with the roles that use and names tell."""
    if not isinstance(target, p.Display) or value.flow.forwards:
        return roles.named(run, value, target, source)
    built = bool(value.holds) and roles.builds(run, target, value.holds)
    if (value.holds and not built) or any(isinstance(each, p.Star) for each in target.items):
        return value
    parts = unpacking.unpack(run, value, target.items, source)
    if built:
        return _built_together(run, parts, target.items, source)
    named = tuple(roles.named(run, part, each, source) for part, each in zip(parts, target.items, strict=True))
    if all(part is each for part, each in zip(parts, named, strict=True)):
        return value
    return run.own(Sequence("tuple", Content(named), run.site(source), run.frame.what))


def _built_together(run: Run, parts: list[Value], targets: tuple[p.Expr, ...], source: p.Expr) -> Value:
    """An optimizer and its scheduler, of one call."""
    named = [roles.named(run, part, each, source) for part, each in zip(parts, targets, strict=True)]
    optimizers = held(part for part in named if isinstance(part, Optimizer))
    named = [
        roles.named(run, Unknown(part.flow, optimizers), each, source) if isinstance(part, Unknown) else part
        for part, each in zip(named, targets, strict=True)
    ]
    return run.own(Sequence("tuple", Content(tuple(named)), run.site(source), run.frame.what))


def _counted_on(run: Run, target: p.Expr, of: p.Expr, value: Value, node: p.Assign) -> Value:
    """What `target = of` assigns, as in `count = (count + 1) % 4`: a number that goes on from what it was is not known."""
    if isinstance(target, p.Display) and isinstance(of, p.Display) and isinstance(value, Sequence) and run.loop_depth:
        return _each_counted_on(run, target, of, value, node)
    known = isinstance(value, Const) and type(value.value) in (int, float)
    if not isinstance(of, p.Operation) or not run.loop_depth or not (known or isinstance(value, Plain)):
        return value
    by_one = (
        len(of.operands) == 2 and running_sums.alike(of.operands[0], target) and isinstance(of.operands[1], p.Const)
    )
    old = run.resolve(run.evaluate(target)) if by_one else Plain()
    if known:
        if running_sums.reading(run, target, of) is None:
            return value
        if any(isinstance(part, p.Call) for part in walk(of)):
            return Plain()
        targets.bind(run, target, Plain(), node)
        value = run.evaluate(of)
    if by_one:
        counters.counted(run, node, of.op, old, run.evaluate(of.operands[1]), value)
    return value


def _each_counted_on(run: Run, target: p.Display, of: p.Display, value: Sequence, node: p.Assign) -> Value:
    """The same of `count, rest = count + 1, other`."""
    items = value.content.items
    if value.content.rest is not None or not len(target.items) == len(of.items) == len(items):
        return value
    triples = zip(target.items, of.items, items, strict=True)
    parts = tuple(_counted_on(run, each, source, item, node) for each, source, item in triples)
    if all(part is item for part, item in zip(parts, items, strict=True)):
        return value
    return run.own(Sequence("tuple", Content(parts), value.born, run.frame.what))


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
    if isinstance(old, Mapping) and node.op == "|" and not node.rebinds:
        run.call(run.attribute(old, "update", node), Call((value,), {}, node))
        return True
    for observe in () if node.rebinds and not isinstance(old, (Params, ParameterValue)) else run.observers.changed:
        observe(run, old, Call((value,), {}, node, f"{run.text(node.target)}.__iadd__"))
    if not node.rebinds:
        given_gradients.changed(run, old, node)
    if parameters.updates_by_hand(run, node, old, value):
        return True
    result = operators.operate(run, node.op, (old, value), node)
    if not node.rebinds and isinstance(old, Plain) and isinstance(result, Plain):
        result = _still(old, result)
    result = counters.uncounted(run, old, value, result)
    if node.op in "+-" and value.flow.graph is not False and not run.modules_called:
        plain = isinstance(old, (Const, Plain)) or (isinstance(old, (Tensor, Unknown)) and old.flow.graph is False)
        if plain or old.flow.retained:
            carries = old.flow.retained
            bounded = targets.is_emptied(run, node.target, carries)
            holder = run.text(node.target)
            name = run.text(node.value)
            retained = keeping.keep(run, value, Retention.ACCUMULATED, holder, carries, node, name, bounded=bounded)
            result = operators.operate(run, node.op, (old, retained), node)
    result = sums.summed(run, old, value, result, node)
    counters.counted(run, node, node.op, old, value, result)
    targets.bind(run, node.target, result, node)
    return True


def _still(old: Plain, result: Plain) -> Plain:
    """What an array is that changes in place: the array that it was, with other numbers."""
    if holding.stem(old.symbol)[0] != "array" and not arrays.is_certain(old):
        return result
    symbol = compound("[]", old.symbol, (CHANGED, result.symbol))
    return Number(result.flow, symbol, result.size) if isinstance(result, Number) else Plain(symbol, result.size)


dispatch.STATEMENTS.update(
    {
        p.Assign: _assign,
        p.Augment: _augment,
    }
)
