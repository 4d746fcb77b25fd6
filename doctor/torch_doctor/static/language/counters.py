"""Counters that scripts keep by hand: what is counted, and which tests a counter that begins anew makes periodic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static import program as p
from torch_doctor.static.decisions import Decisions
from torch_doctor.static.domains.accounts.formulas import Counters
from torch_doctor.static.knowledge import Knowledge
from torch_doctor.static.state import per_run
from torch_doctor.static.values import Const, Either, Mapping, Number, Object, Plain, Sequence, symbol_of
from torch_doctor.trace import CounterChanged

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Symbol, Value


class Counted(Knowledge):
    """The numbers that loops count, by their symbols."""

    symbols: set[Symbol] = per_run(set)


def uncounted(run: Run, old: Value, added: Value, result: Value) -> Value:
    """What `holder += added` gives in a loop: two passes stand for many, so a counter is not what it was counted to."""
    if not run.loop_depth:
        return result
    if isinstance(result, Const):
        return result if isinstance(result.value, str) else Plain()
    return Number(result.flow) if isinstance(old, Either) and _is_number(old) and _is_number(added) else result


def counted(run: Run, node: p.Augment | p.Assign, op: str, old: Value, added: Value, result: Value) -> None:
    """Remember what `holder += added`, or `holder = holder + added`, gives in a loop."""
    if run.loop_depth and op in ("+", "-") and isinstance(result, Plain) and _is_number(added):
        if isinstance(node, p.Augment):
            run.of(Counted).symbols.add(result.symbol)
        if isinstance(added, Const) and type(added.value) is int and not run.modules_called:
            _count(run, node, added.value if op == "+" else -added.value, old, result.symbol)


def _count(run: Run, node: p.Augment | p.Assign, by: int, old: Value, symbol: Symbol) -> None:
    """Write that a counter goes on; it is the counter whose number it was before, else one of its own for each holder."""
    counters = run.of(Counters)
    target = node.target if isinstance(node, p.Augment) else node.targets[0]
    holder = run.resolve(run.evaluate(target.value)) if isinstance(target, (p.Attribute, p.Index)) else None
    place = (node, holder.id if isinstance(holder, Object) else 0)
    before = counters.events.get(old.symbol) if isinstance(old, Plain) else None
    number = counters.numbers.setdefault(place, len(counters.numbers) + 1) if before is None else before[0]
    counters.numbers[place] = number
    value = old.value if isinstance(old, Const) and type(old.value) is int else None
    event = run.emit(CounterChanged, node, counter=number, by=by, value=value)
    counters.events[symbol] = number, event.index


def _set(run: Run, old: Plain, new: Value | None) -> None:
    """Write that a counter gets another number, unless it goes on."""
    counted_so_far = run.of(Counters).events
    known = counted_so_far.get(old.symbol)
    if known is not None and not (isinstance(new, Plain) and new.symbol in counted_so_far):
        value = new.value if isinstance(new, Const) and type(new.value) is int else None
        run.emit(CounterChanged, run.scope.site, counter=known[0], value=value)


def _is_number(value: Value) -> bool:
    """Whether a value is a number, or one of several."""
    if isinstance(value, Either):
        return all(_is_number(option) for _, option in value.options)
    return isinstance(value, Plain) or (isinstance(value, Const) and type(value.value) in (int, float))


def begun_anew(run: Run, old: Value, new: Value | None = None) -> None:
    """A holder of `old` gets another value, or a list is emptied: tests of how far it had counted are periodic."""
    if isinstance(old, Plain):
        _set(run, old, new)
    counting = run.of(Counted).symbols
    if isinstance(old, (Sequence, Mapping)):
        symbol: Symbol = ("len", old.id)
    elif isinstance(old, Plain) and isinstance(new, (Const, Plain)) and symbol_of(new) not in counting:
        symbol = old.symbol
        if symbol not in counting:
            return
    else:
        return
    run.of(Decisions).begins_anew(run.trace, run.guards, symbol)
