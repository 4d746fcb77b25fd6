"""Holders that a loop empties now and then, which keep what they are given for some passes only."""

from __future__ import annotations

from operator import is_not
from typing import TYPE_CHECKING

from torch_doctor.static.flow import UNSEEN, Flow, blend
from torch_doctor.static.language import counters
from torch_doctor.static.values import (
    Content,
    Either,
    Fact,
    Instance,
    Mapping,
    Plain,
    Sequence,
    Tensor,
    Unknown,
    Value,
    join,
    reachable,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Args, Fields

DEPTH = 3
"""How deep a meter lies in a dict of an object."""


def replaced(run: Run, fields: Fields, key: object, new: object) -> None:
    """A variable, an attribute or an item gets another value: what it kept is gone where the new one has nothing of it."""
    position = run.position
    if not position.loop_depth or position.modules_called:
        return
    old = fields.get(key)
    if old is None or old is new or not isinstance(old, Value):
        return
    counters.begun_anew(run, old, new if isinstance(new, Value) else None)
    options = _options(new) if isinstance(new, Value) else ()
    for option in _options(old):
        if not any(option is each for each in options):
            for place in _keeping(option, own := _holder(run, fields), key, DEPTH):
                if not (place == (own, key) and isinstance(new, Value) and _keeps_a_graph(new)):
                    _note(run, place)


def emptied(run: Run, holder: Sequence | Mapping) -> None:
    """Something is taken out of a container."""
    if run.loop_depth and not run.modules_called:
        counters.begun_anew(run, holder)
        for place in _keeping(holder, holder.fields.id, "items", DEPTH):
            _note(run, place)


def escaped(run: Run, holders: Args) -> None:
    """Code out of sight gets something: whatever it reaches may be emptied there, and begin to count anew."""
    if not run.loop_depth or run.modules_called:
        return
    for each in reachable(holders):
        if isinstance(each, (Sequence, Mapping, Instance)):
            for place in _keeping(each, each.fields.id, "items", 1):
                _note(run, place)
        if isinstance(each, Instance):
            sums = [name for name, value in each.fields.items() if isinstance(value, Plain) and value.flow.sums]
            for name in sums:
                run.heap.set(each.fields, name, Plain())


def is_emptied(run: Run, fields: Fields, key: object, carries: frozenset[int]) -> bool:
    """Whether the loop that put these into the holder in earlier passes also empties it."""
    emptied_in = run.state.fact(Fact.EMPTIED)
    if not emptied_in or not carries:
        return False
    around, holder = run.scope.iterations(), _holder(run, fields)
    for earlier in run.trace.at(*carries):
        loops = {scope.loop for scope in earlier.scope.iterations()}
        common = next((scope.loop for scope in reversed(around) if scope.loop in loops), 0)
        if common and (holder, key, common) not in emptied_in:
            return False
    return True


def _options(value: Value) -> tuple[Value, ...]:
    return tuple(option for _, option in value.options) if isinstance(value, Either) else (value,)


def _keeps_a_graph(value: Value) -> bool:
    return bool(value.flow.retained) or (value.flow.graph is True and bool(value.flow.forwards))


def _holder(run: Run, fields: Fields) -> object:
    """What tells a holder apart: the variables of a function are new in each call, and what is returned comes back."""
    what = run.frame.what
    return fields.id if what is None or fields is not run.frame.fields else what.node


def _keeping(value: Value, holder: object, key: object, depth: int) -> Iterator[tuple[object, object]]:
    """Where a value, which lies there, keeps something."""
    if isinstance(value, (Tensor, Unknown)):
        if _keeps_a_graph(value):
            yield holder, key
    elif isinstance(value, Sequence):
        if value.flow.retained:
            yield value.fields.id, "items"
    elif isinstance(value, (Mapping, Instance)) and depth:
        for name, each in value.fields.items():
            if isinstance(each, Value):
                for option in _options(each):
                    yield from _keeping(option, value.fields.id, name, depth - 1)


def _note(run: Run, place: tuple[object, object]) -> None:
    """All loops around empty the holder."""
    found = frozenset((*place, scope.loop) for scope in run.scope.iterations())
    known = run.state.fact(Fact.EMPTIED)
    if not found <= known:
        run.heap.set(run.state.facts, Fact.EMPTIED, known | found)


def open_table(run: Run, table: Value, *, empty: bool = False, beside: Flow = UNSEEN) -> None:
    """Let a dict or list hold what nobody knows, too; with `empty`, only one that holds nothing.

    It may be computed of something with the history `beside`, which whoever changed the table got, too.
    """
    if isinstance(table, Mapping) and not (empty and table.fields):
        rest = table.fields.get("rest")
        if type(rest) is not Unknown or not beside.forwards <= rest.flow.forwards:
            run.heap.set(table.fields, "rest", _and_unknown(rest, beside))
    elif isinstance(table, Sequence) and not (empty and table.content.items):
        content = table.content
        if content.rest is None or not beside.forwards <= content.rest.flow.forwards:
            run.heap.set(table.fields, "items", Content(content.items, _and_unknown(content.rest, beside)))


def perhaps_let_go(run: Run, to: str, value: Value, node: p.Node) -> None:
    """Somebody out of sight may have cut a graph: of tensors in a list, which others may replace, or where the name says so.

    By torch's custom, a function whose name ends with an underscore changes what it gets.
    """
    if isinstance(value, Sequence) and value.kind == "list":
        items = tuple(_perhaps_without_graph(item, node) for item in value.content.items)
        if any(map(is_not, items, value.content.items)):
            run.heap.set(value.fields, "items", Content(items, value.content.rest))
    elif to.endswith("_") and (other := _perhaps_without_graph(value, node)) is not value:
        run.heap.change(value, other)


def _perhaps_without_graph(value: Value, node: p.Node) -> Value:
    """A tensor with a graph that may have lost it, which no other value tells."""
    if not isinstance(value, Tensor) or value.flow.graph is not True:
        return value
    return value.with_flow(value.flow.part(node))


def _and_unknown(rest: Value | None, beside: Flow) -> Value:
    if type(rest) is Unknown:
        return Unknown(blend((rest.flow, beside)), rest.holds)
    return Unknown(beside) if rest is None else join(rest, Unknown(beside))
