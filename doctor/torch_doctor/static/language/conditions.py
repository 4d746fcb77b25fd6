"""Decides tests: comparisons, `and`, `or`, `not`, and what each arm of a branch may assume."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static import dispatch
from torch_doctor.static import program as p
from torch_doctor.static.decisions import Decisions
from torch_doctor.static.flow import EMPTY, blend
from torch_doctor.static.knowledge import Knowledge
from torch_doctor.static.language import outcomes
from torch_doctor.static.measuring import making
from torch_doctor.static.options import Options
from torch_doctor.static.state import per_run
from torch_doctor.static.tables.kinds import Effect
from torch_doctor.static.training import cross_device, cuts, drawing, kinds, places, plain_tensors, sums
from torch_doctor.static.training.data import arrays
from torch_doctor.static.training.device import devices
from torch_doctor.static.values import (
    VERSION,
    Const,
    Default,
    Either,
    Lib,
    Object,
    Plain,
    Symbol,
    Tensor,
    Unknown,
    Value,
    compound,
    fresh_symbol,
    summary,
    symbol_of,
)

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from torch_doctor.static.run import Run


class Tested(Knowledge):
    """The values that were tested, such as tensors of one number, with the symbols of their truth."""

    symbols: MutableMapping[object, Symbol] = per_run(dict)


Decision = tuple[bool | None, dict[Symbol, bool], dict[Symbol, bool], Symbol | None]
_NEGATIVE = {"!=": "==", "is not": "is", "not in": "in"}


def decide(run: Run, node: p.Expr) -> Decision:
    """Decide a test: the outcome (None: both), the facts in each arm, and the symbol that decides."""
    if isinstance(node, p.Logic):
        if node.op == "not":
            truth, yes, no, symbol = decide(run, node.operands[0])
            return (
                (None if truth is None else not truth),
                no,
                yes,
                symbol if truth is not None else _negated(symbol),
            )
        return _connective(run, node)
    if isinstance(node, p.Compare):
        value, negated = _compared(run, node)
        return decision(run, value, negated=negated)
    return decision(run, run.resolve(run.evaluate(node)))


def decision(run: Run, value: Value, *, negated: bool = False) -> Decision:
    """The same of a value that is tested."""
    for observe in run.observers.tested:
        observe(run, value)
    truth = outcomes.truth_of(value)
    if truth is not None:
        return truth is not negated, {}, {}, None
    value = outcomes.decided_truth(value) or value
    symbol = _symbol_for(run, value)
    while symbol[0] == "not":
        symbol, negated = symbol[1], not negated
    assumed = run.decided(symbol)
    if assumed is not None:
        return assumed is not negated, {}, {}, None
    run.of(Decisions).equals(symbol)
    if negated:
        return None, {symbol: False}, {symbol: True}, _negated(symbol)
    return None, {symbol: True}, {symbol: False}, symbol


def _symbol_for(run: Run, value: Value) -> Symbol:
    """The symbol of a value in tests: one that has none of its own gets one, the same wherever this very value is tested."""
    if isinstance(value, (Plain, Unknown, Lib, Default, Const, Object)):
        return symbol_of(value)
    key: object = value
    if isinstance(value, Either):  # it is made anew where it is read
        key = tuple((tuple(facts), _symbol_for(run, option)) for facts, option in value.options)
    return run.of(Tested).symbols.setdefault(key, fresh_symbol())


def _connective(run: Run, node: p.Logic) -> Decision:
    conjunction = node.op == "and"
    facts: dict[Symbol, bool] = {}
    single: Decision | None = None
    symbols: list[Symbol] = []
    for operand in node.operands:
        decision = decide(run, operand)
        truth, yes, no, symbol = decision
        if truth is None:
            facts.update(yes if conjunction else no)
            symbols.append(symbol or fresh_symbol())
            single = decision
        elif truth is not conjunction:
            return truth, {}, {}, None
    if not symbols:
        return conjunction, {}, {}, None
    if len(symbols) == 1 and single is not None:
        return single
    whole = compound(node.op, *symbols)
    assumed = run.decided(whole)
    if assumed is not None:
        return assumed, {}, {}, None
    strong = {**facts, whole: conjunction}
    weak = {whole: not conjunction}
    return (None, strong, weak, whole) if conjunction else (None, weak, strong, whole)


def _logic(run: Run, node: p.Logic) -> Value:
    if node.op == "not":
        truth, yes, _, _ = decide(run, node.operands[0])
        if truth is not None:
            return Const(not truth)
        symbol, arm = next(iter(yes.items()))
        return Plain(("not", symbol) if arm else symbol)
    truth, yes, no, _ = decide(run, node)
    if truth is not None and all(isinstance(operand, (p.Compare, p.Logic)) for operand in node.operands):
        return Const(truth)
    values = [run.evaluate(operand) for operand in node.operands]
    for value in values[:-1]:
        known = outcomes.truth_of(value)
        if known is (node.op == "or"):
            return value
        if known is None:
            break
    else:
        return values[-1]
    if all(isinstance(value, (Plain, Const)) for value in values) and truth is None:
        facts = yes if node.op == "and" else no
        symbol = list(facts)[-1]
        return Plain(symbol if node.op == "and" or not facts[symbol] else ("not", symbol))
    return summary([value for value in values if not (isinstance(value, Const) and value.value is None)] or values)


def _compare(run: Run, node: p.Compare) -> Value:
    value, negated = _compared(run, node)
    if isinstance(value, Const):
        return Const(bool(value.value) is not negated)
    if not isinstance(value, Plain):
        return value
    chosen = run.of(Options).decided(value.symbol)
    if chosen is not None:
        return Const(chosen is not negated)
    return Plain(("not", value.symbol), value.size) if negated else value


def _compared(run: Run, node: p.Compare) -> tuple[Value, bool]:
    """The outcome of the positive form of a comparison, and whether it is to be negated."""
    left, right = run.resolve(run.evaluate(node.left)), run.resolve(run.evaluate(node.right))
    for observe in run.observers.computed[node.op]:
        observe(run, node.op, (left, right), node)
    op = _NEGATIVE.get(node.op, node.op)
    negated = op != node.op
    known = outcomes.compared(op, left, right)
    if known is None and (drawn := drawing.compared(run, op, left, right)) is not None:
        known = Const(drawn)
    if known is None and op == "==" and devices.differ(left, right):
        known = Const(value=False)
    if known is not None:
        return known, negated
    if all(isinstance(side, Const) and not isinstance(side, Default) for side in (left, right)):
        return Plain(), negated  # they do not compare
    sums.steered(run, (left, right), node)
    if (left.flow is not EMPTY or right.flow is not EMPTY) and (isinstance(left, Tensor) or isinstance(right, Tensor)):
        cross_device.together(run, op, (left, right), node)
        flow = cuts.cut(run, blend((left.flow, right.flow)), None, op, node)
        made = plain_tensors.combined(run, op, (left, right), node)
        kept = kinds.computed(Effect.COMPARED, (left, right))
        origin = places.result(run, (left, right)) if made is None else made
        meta = making(node.op, (left, right), site=run.site(node))
        return Tensor(flow, kept.kind, origin, scalar=_single(left, right), meta=meta), negated
    symbol = compound(op, _symbol_for(run, left), _names(run, right) if op == "in" else _symbol_for(run, right))
    return Plain(symbol, arrays.operated(op, (left, right), run.site(node))), negated


def _names(run: Run, holder: Value) -> Symbol:
    """What identifies what a name is looked for in; which names a library has depends on its version."""
    if isinstance(holder, Lib) and holder.name.endswith((".__dict__", ".__all__")):
        return (VERSION, holder.name)
    return _symbol_for(run, holder)


def _single(left: Value, right: Value) -> bool | None:
    """Whether the outcome is one yes or no: of several numbers there are several."""
    found = [True if isinstance(side, (Const, Plain)) else getattr(side, "scalar", None) for side in (left, right)]
    return True if all(found) else False if False in found else None


def _negated(symbol: Symbol | None) -> Symbol | None:
    return None if symbol is None else symbol[1] if symbol[0] == "not" else ("not", symbol)


dispatch.EXPRESSIONS.update(
    {
        p.Compare: _compare,
        p.Logic: _logic,
    }
)
