"""Which stretch of rows, or of their indices, a slice with known bounds takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static import program as p
from torch_doctor.static.domains.rows import holding
from torch_doctor.static.flow import PART
from torch_doctor.static.knowledge import Lasting
from torch_doctor.static.state import per_run
from torch_doctor.static.values import (
    Const,
    Default,
    Object,
    Plain,
    Sequence,
    Stream,
    Tensor,
    Unknown,
    Value,
    constant,
)
from torch_doctor.trace import RowsTaken, Stretch

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Content

RANGE = "range"
_NEAR = 10
"""Bounds nearer to both ends than that cut off a header or a tail, and no part of the rows."""


class Stretches(Lasting):
    """The stretches of values that have no history of their own: ranges and lists of indices; and the events by place."""

    known: dict[int, tuple[Value, Stretch]] = per_run(dict)  # with the value, so that its number is not given away
    events: dict[tuple[object, Stretch], int] = per_run(dict)
    ends: dict[int, tuple[Value, Content | None, Value]] = per_run(dict)  # numbers from 0 on, their items and their end


def counted(run: Run, numbers: Stream, start: Value, stop: Value) -> None:
    """A range of numbers is made."""
    first, last = _bound(start), _bound(stop)
    if first == 0:
        run.of(Stretches).ends[id(numbers)] = numbers, None, stop
    if first is not None and last is not None and 0 <= first < last:
        run.of(Stretches).known[id(numbers)] = numbers, Stretch(RANGE, first, last)


def listed(run: Run, of: Value, items: Sequence) -> None:
    """A list has the items of something, in its order."""
    known, ends = run.of(Stretches).known.get(id(of)), run.of(Stretches).ends
    if known is not None:
        run.of(Stretches).known[id(items)] = items, known[1]
    if id(of) in ends:
        ends[id(items)] = items, items.content, ends[id(of)][2]


def forget(run: Run, items: Value) -> None:
    """A list gets or loses items."""
    run.of(Stretches).known.pop(id(items), None)
    run.of(Stretches).ends.pop(id(items), None)


def end_of(run: Run, numbers: Value) -> Value | None:
    """Where numbers end that are all those from 0 on, as long as nothing was added to them or taken from them."""
    known = run.of(Stretches).ends.get(id(numbers))
    if known is None or (isinstance(numbers, Sequence) and numbers.content is not known[1]):
        return None
    return known[2]


def sliced(run: Run, value: Value, node: p.Index, item: Value) -> Value:
    """What a slice takes, which remembers the stretch where its bounds are known."""
    cut = node.key.items[0] if isinstance(node.key, p.Display) and node.key.items else node.key
    if not isinstance(cut, p.Slice) or cut.step is not None or run.modules_called:
        return item
    if value.flow.forwards or value.flow.graph is True:
        return item
    if isinstance(cut.lower, p.Operation) and len(cut.lower.operands) > 1:
        return item  # a window that reaches back over the bound
    given = [bound for bound in (cut.lower, cut.upper) if bound is not None]
    bounds = {id(bound): _bound(run.evaluate(bound)) for bound in given}
    if None in bounds.values() or all(abs(bound) < _NEAR for bound in bounds.values() if bound is not None):
        return item
    stretch = Stretch(_root(run, value), bounds.get(id(cut.lower)), bounds.get(id(cut.upper)))
    if isinstance(item, Object):
        run.of(Stretches).known[id(item)] = item, stretch
        return item
    if not isinstance(item, (Tensor, Plain, Unknown)):
        return item
    key = run.site(node), stretch
    number = run.of(Stretches).events.get(key)
    if number is None:
        number = run.emit(RowsTaken, node, stretch=stretch).index
        run.of(Stretches).events[key] = number
    return holding.with_rows(item, item.flow.rows | {number})


def of(run: Run, values: Iterable[Value]) -> tuple[Stretch, ...]:
    """The stretches that these values are of."""
    found: dict[Stretch, None] = {}
    for value in values:
        known = run.of(Stretches).known.get(id(value))
        if known is not None:
            found[known[1]] = None
        for event in run.trace.at(*sorted(value.flow.rows - {PART})):
            if isinstance(event, RowsTaken):
                found[event.stretch] = None
    return tuple(found)


def _bound(value: Value) -> int | None:
    """A bound that is known."""
    known = isinstance(value, Const) and not isinstance(value, Default)
    number = constant(value) if known else None
    return number if isinstance(number, int) else None


def _root(run: Run, value: Value) -> str:
    """What identifies what is sliced, as far as it is the same each time."""
    if isinstance(value, (Plain, Unknown)):
        return repr(value.symbol)
    return repr(holding.root_of(run, value))
