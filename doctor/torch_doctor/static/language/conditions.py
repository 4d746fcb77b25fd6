"""Decides tests: comparisons, `and`, `or`, `not`, and what each arm of a branch may assume."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from torch_doctor.static import dispatch
from torch_doctor.static import program as p
from torch_doctor.static.decisions import Decisions
from torch_doctor.static.flow import EMPTY, blend
from torch_doctor.static.language import narrowing
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.training import cross_device, cuts, drawing, places, plain_tensors, sums
from torch_doctor.static.values import (
    COUNTER,
    ClassValue,
    Const,
    Either,
    FunctionValue,
    Grads,
    Instance,
    Lib,
    Mapping,
    Module,
    Object,
    Optimizer,
    Params,
    Plain,
    Sequence,
    Symbol,
    Tensor,
    Tool,
    Unknown,
    Value,
    compound,
    fresh_symbol,
    summary,
    symbol_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from torch_doctor.static.run import Run

_NAMED = (FunctionValue, ClassValue)
Decision = tuple[bool | None, dict[Symbol, bool], dict[Symbol, bool], Symbol | None]
_NEGATIVE = {"!=": "==", "is not": "is", "not in": "in"}
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "is": lambda left, right: left is right or left == right,
    "in": lambda left, right: left in right,
}


_TYPES = {
    "torch.Tensor": "tensor",
    "torch.autograd.Variable": "tensor",
    **{f"builtins.{name}": name for name in ("list", "tuple", "set", "dict")},
}
"""Types that are told apart where `type(...)` is compared."""
_FIRST_PASS = {("==", 0): True, ("<=", 0): True, ("<", 1): True, (">", 0): False, (">=", 1): False}
"""Comparisons of a loop's counter that tell its first pass (True) or the later ones (False)."""


def _is_first(value: Value) -> bool | None:
    """Whether a loop's counter stands at 0; None for any other value."""
    if isinstance(value, Plain) and value.symbol[0] == COUNTER:
        first: bool | None = value.symbol[1]
        return first
    return None


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
        return _decision(run, value, negated=negated)
    return _decision(run, run.resolve(run.evaluate(node)))


def _decision(run: Run, value: Value, *, negated: bool = False) -> Decision:
    for observe in run.observers.tested:
        observe(run, value)
    truth = truth_of(run, value)
    if truth is not None:
        return truth is not negated, {}, {}, None
    symbol = value.symbol if isinstance(value, (Plain, Unknown)) else fresh_symbol()
    while symbol[0] == "not":
        symbol, negated = symbol[1], not negated
    assumed = run.decided(symbol)
    if assumed is not None:
        return assumed is not negated, {}, {}, None
    run.of(Decisions).equals(symbol)
    if negated:
        return None, {symbol: False}, {symbol: True}, _negated(symbol)
    return None, {symbol: True}, {symbol: False}, symbol


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


def truth_of(run: Run, value: Value) -> bool | None:  # noqa: PLR0911 - one line per sort of value
    """Whether a value counts as true; None when that is not known."""
    if isinstance(value, Const):
        return bool(value.value)
    if isinstance(value, Sequence):
        content = value.content
        return True if content.items else False if content.rest is None else None
    if isinstance(value, Mapping):
        return True if value.fields else None
    if isinstance(value, Either):
        found = {truth_of(run, option) for _, option in value.options}
        return found.pop() if len(found) == 1 else None
    if isinstance(value, (Object, Lib, FunctionValue)):
        return True
    first = _is_first(value)
    return None if first is None else not first


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
        known = truth_of(run, value)
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
    if isinstance(value, Plain) and negated:
        return Plain(("not", value.symbol))
    return value


def _names_one_thing(value: Value) -> bool:
    """Whether it is a function or a class of the project, or one of torch that no other name repeats with other contents."""
    if isinstance(value, Lib):
        return canonical(value.name).startswith(("torch.nn.", "torch.optim."))
    return isinstance(value, _NAMED)


def _is_named(value: Value, named: Value) -> Value:
    """Whether something is a certain function or class, as far as its sort tells."""
    if isinstance(value, Lib) and isinstance(named, Lib):
        if value.name == named.name:
            return Const(value=True)
        other = _names_one_thing(value) and canonical(value.name) != canonical(named.name)
        return Const(value=False) if other else Plain()
    if isinstance(value, _NAMED):
        return Const(value is named or getattr(value, "node", None) is getattr(named, "node", named))
    return Const(value=False) if isinstance(value, (Const, Module, Instance, Lib)) else Plain()


def _same(left: Value, right: Value) -> Value | None:
    """Whether a function or a class is another, where that is known, or the test that led to one of several decides it."""
    if not _names_one_thing(right):
        left, right = right, left
    if not _names_one_thing(right):
        return None
    if not isinstance(left, Either):
        answer = _is_named(left, right)
        return answer if isinstance(answer, Const) else None
    answers = [_is_named(option, right) for _, option in left.options]
    if all(isinstance(answer, Const) for answer in answers) and len({answer.value for answer in answers}) == 1:  # type: ignore[attr-defined]  # constants
        return answers[0]
    return narrowing.deciding(left, answers)


def _compared(run: Run, node: p.Compare) -> tuple[Value, bool]:
    """The outcome of the positive form of a comparison, and whether it is to be negated."""
    left, right = run.resolve(run.evaluate(node.left)), run.resolve(run.evaluate(node.right))
    for observe in run.observers.computed:
        observe(run, node.op, (left, right), node)
    op = _NEGATIVE.get(node.op, node.op)
    negated = op != node.op
    if isinstance(left, Const) and isinstance(right, Const):
        try:
            return Const(bool(_COMPARE[op](left.value, right.value))), negated
        except (TypeError, ValueError):
            return Plain(), negated
    if op == "in" and isinstance(left, Const):
        found = _contains(run, left, right)
        if found is not None:
            return Const(found), negated
    first = _is_first(left) if isinstance(right, Const) and right.value in (0, 1) else None
    if first is not None and (op, right.value) in _FIRST_PASS:  # type: ignore[attr-defined]  # a constant, see above
        return Const(first is _FIRST_PASS[op, right.value]), negated  # type: ignore[attr-defined]
    if (outcome := drawing.compared(run, op, left, right)) is not None:
        return Const(outcome), negated
    if op in ("is", "==") and isinstance(right, Const) and right.value is None and _never_none(left):
        return Const(value=False), negated
    if op in ("is", "==") and isinstance(left, Lib) and isinstance(right, Lib):
        names = [_TYPES.get(canonical(value.name)) for value in (left, right)]
        if None not in names:
            return Const(names[0] == names[1]), negated
    if op in ("is", "==") and (decided := _same(left, right)) is not None:
        return decided, negated
    sums.steered(run, (left, right), node)
    if (left.flow is not EMPTY or right.flow is not EMPTY) and (isinstance(left, Tensor) or isinstance(right, Tensor)):
        cross_device.together(run, op, (left, right), node)
        flow = cuts.cut(run, blend((left.flow, right.flow)), None, op, node)
        made = plain_tensors.combined(run, op, (left, right), node)
        return Tensor(flow, origin=places.result(run, (left, right)) if made is None else made), negated
    return Plain(compound(op, symbol_of(left), symbol_of(right))), negated


def _contains(run: Run, item: Const, holder: Value) -> bool | None:
    if isinstance(holder, Sequence):
        content = holder.content
        if content.rest is None and all(isinstance(value, Const) for value in content.items):
            return any(isinstance(value, Const) and value.value == item.value for value in content.items)
    if isinstance(holder, Mapping) and "rest" not in holder.fields and ("key", item.value) in holder.fields:
        return True
    return None


def _negated(symbol: Symbol | None) -> Symbol | None:
    return None if symbol is None else symbol[1] if symbol[0] == "not" else ("not", symbol)


def _never_none(value: Value) -> bool:
    if isinstance(value, Either):
        return all(_never_none(option) for _, option in value.options)
    return isinstance(value, (Object, Tensor, Params, Grads, FunctionValue, ClassValue, Tool, Optimizer, Lib))


dispatch.EXPRESSIONS.update(
    {
        p.Compare: _compare,
        p.Logic: _logic,
    }
)
