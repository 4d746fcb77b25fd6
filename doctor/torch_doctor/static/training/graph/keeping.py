"""Writes that a value outlives its statement."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from torch_doctor.static.knowledge import Knowledge
from torch_doctor.static.state import per_path, per_run
from torch_doctor.static.values import (
    Content,
    Either,
    Fact,
    Mapping,
    Sequence,
    Tensor,
    Unknown,
    Value,
    asked,
    symbol_of,
)
from torch_doctor.trace import Retained, Stored
from torch_doctor.trace.words import Retention

if TYPE_CHECKING:
    from collections.abc import Iterator, MutableSet

    from torch_doctor.static import program as p
    from torch_doctor.static.flow import Flow, Part
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Symbol


class Undecided(Knowledge):
    """What was kept before anything showed whether a graph hangs on it."""

    went_backward: MutableSet[int] = per_path(set)  # forwards whose loss went backward
    parts_gone_backward: MutableSet[Part] = per_path(set)  # parts of outputs that did
    retained: list[tuple[Retained, Flow]] = per_run(list)  # the events, and what was known of the values


class Keys(Knowledge):
    """The symbols of the keys under which values were stored, by the number of the event."""

    symbols: dict[int, Symbol] = per_run(dict)


def stored_under(run: Run, key: Value, events: frozenset[int]) -> None:
    """Remember under which key a table got what these events retained."""
    for event in events:
        run.of(Keys).symbols.setdefault(event, symbol_of(key))


def comes_again(run: Run, key: Value, carries: frozenset[int]) -> bool:
    """Whether a key is the one under which a table got what it retained: then that is gone.

    The rest of a division is one of a few numbers.
    """
    symbol = symbol_of(key)
    if symbol[0] == "%":
        return True
    known = [run.of(Keys).symbols.get(event) for event in carries]
    return bool(known) and all(each == symbol for each in known)


def keep(
    run: Run,
    value: Value,
    how: Retention,
    holder: str,
    carries: frozenset[int],
    node: p.Node,
    name: str = "",
    *,
    bounded: bool = False,
) -> Value:
    """Write that a value is kept, which is called `name` there, and return it marked as such."""
    flow = value.flow
    if flow.graph is False or run.modules_called:
        return value
    if isinstance(value, Either) and any(asked(symbol) for facts, _ in value.options for symbol, _ in facts):
        return value  # whoever decides which it is may know that it is a number
    if flow.graph is None and not (flow.forwards or flow.modules or isinstance(value, Tensor)):
        return value  # nothing says that it is a tensor
    value = gone_backward(run, value)
    flow = value.flow
    event = run.emit(
        Retained, node, value=run.fact(value, name), how=how, holder=holder, carries=carries, bounded=bounded
    )
    if flow.graph is None and flow.forwards:
        run.of(Undecided).retained.append((event, flow))
    retained = frozenset((*flow.retained, *_retaining(run, carries), event.index))
    return reflow(run, value, replace(flow, retained=retained))


def _retaining(run: Run, carries: frozenset[int]) -> Iterator[int]:
    """Those of the events that retained something, and not the forwards of something that was just left where it is."""
    return (event.index for event in run.trace.at(*carries) if isinstance(event, Retained))


def stored(run: Run, value: Value, node: p.Node) -> None:
    """Write that a value without a graph is put where others may find it."""
    flow = value.flow
    if flow.graph is False and flow.forwards and not run.modules_called:
        run.emit(Stored, node, forwards=flow.forwards)


def gone_backward(run: Run, value: Value) -> Value:
    """The value, with a graph where nothing but that it went backward shows that it had one.

    What was made of numbers that were cut off their graph has none from there, whatever else is in it.
    """
    return reflow(run, value, replace(value.flow, graph=True)) if _went_backward(run, value.flow) else value


def had_a_graph(run: Run) -> None:
    """Write that what was kept before it went backward had a graph then, where only the backward pass shows it."""
    waiting = []
    for event, flow in run.of(Undecided).retained:
        if _went_backward(run, flow):
            run.trace.replace(event, value=replace(event.value, graph=True))
        else:
            waiting.append((event, flow))
    run.of(Undecided).retained = waiting


def _went_backward(run: Run, flow: Flow) -> bool:
    return (
        flow.graph is None
        and bool(flow.graph_forwards)
        and flow.forwards <= run.of(Undecided).went_backward
        and flow.parts <= run.of(Undecided).parts_gone_backward
    )


def reflow(run: Run, value: Value, flow: Flow) -> Value:
    """The same value with another history."""
    if isinstance(value, Tensor):
        return value.with_flow(flow)
    return Unknown(flow, value.holds if isinstance(value, Unknown) else frozenset())


def keep_item(
    run: Run, value: Value, carries: frozenset[int], node: p.Node, receiver: str, name: str = "", *, bounded: bool
) -> Value:
    """A value on its way into a container."""
    if isinstance(value, (Tensor, Unknown)):
        return keep(run, value, Retention.APPENDED, receiver, carries, node, name, bounded=bounded)
    if isinstance(value, Sequence) and value.flow.graph is not False:
        items = tuple(keep_item(run, item, carries, node, receiver, bounded=bounded) for item in value.content.items)
        copy: Sequence = run.own(Sequence(value.kind, Content(items, value.content.rest), value.born, value.function))
        if (filled := value.fact(Fact.FILLED_UP)) is not None:
            copy.facts[Fact.FILLED_UP] = filled
        return copy
    if isinstance(value, Mapping) and value.flow.graph is not False:
        for key, item in list(value.fields.items()):
            if isinstance(item, (Tensor, Unknown)):
                kept = keep_item(run, item, carries, node, receiver, bounded=bounded)
                run.heap.set(value.fields, key, kept)
    return value
