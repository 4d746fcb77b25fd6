"""The batches that the owner of a loop goes through, executed as a loop of the script would be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from torch_doctor.static.flow import Flow
from torch_doctor.static.language import courses, loops, streams
from torch_doctor.static.training.data import batch_parts
from torch_doctor.static.values import Content, Loader, Mapping, Sequence, Stream, Unknown, Value
from torch_doctor.trace import BatchTaken, Source

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run


def every(run: Run, node: p.Node, step: Callable[[Value], Value], over: str = "the batches") -> None:
    """Run something for every batch of a loader out of sight."""
    through(run, node, node, Unknown(), over, lambda batch, _: step(batch))


def through(
    run: Run,
    body: p.Node,
    node: p.Node,
    given: Value,
    over: str,
    step: Callable[[Value, Value], Value],
    *,
    validates: bool = False,
) -> None:
    """Run something for every batch of what an owner of the loop was given, at `node`; `body` is what it runs.

    `step` gets each batch with its number. `over` is what the user calls the loader, and `validates` tells that a trainer
    validates while it trains. Of what is no loader in sight, nothing is known but that it gives batches.
    """
    given = run.resolve(given)
    several = _loaders_in(run, given)
    if isinstance(given, Loader):
        stream = streams.stream_of(run, given)
    elif several:
        stream = Stream(_side_by_side(run, given, node), None, several[0])
    else:
        loader: Loader = run.own(Loader(None, over))
        batch = batch_parts.begun(run, Unknown(Flow(source=Source.LOADER, loader=loader.id)))
        stream = Stream(batch, None, loader.id)
    numbers = several or [stream.loader]
    pairs = streams.numbered(run, stream)
    course = replace(courses.through(run, pairs, over, ()), validates=validates)
    taken: list[Sequence] = []

    def begin(turn: int) -> bool:
        for number in numbers:
            run.emit(BatchTaken, node, loader=number, name=over)
        item = course.item(turn)
        assert isinstance(item, Sequence)
        taken.append(item)
        return True

    def once() -> bool:
        index, batch = taken[-1].content.items
        step(batch, index)
        return True

    loops.iterate(run, body, node.at, course, begin, once)


def parts_of(given: Value) -> list[tuple[object, Value]]:
    """What a list or dict holds of which all is known, by the indices or keys."""
    if isinstance(given, Sequence) and given.content.rest is None:
        return [*enumerate(given.content.items)]
    if isinstance(given, Mapping) and "rest" not in given.fields:
        return [(key[1], value) for key, value in given.fields.items() if isinstance(key, tuple)]
    return []


def _loaders_in(run: Run, given: Value) -> list[int]:
    """The loaders in a list or dict of loaders; none where it holds anything else."""
    found: list[int] = []
    for _, each in parts_of(given) if not isinstance(given, Loader) else ():
        value = run.resolve(each)
        inside = [value.id] if isinstance(value, Loader) else _loaders_in(run, value)
        if not inside:
            return []
        found += inside
    return found


def _side_by_side(run: Run, given: Value, node: p.Node) -> Value:
    """The batches that loaders give together, in a list or dict as that of the loaders."""
    if isinstance(given, Loader):
        return streams.stream_of(run, given).item
    batches = {key: _side_by_side(run, run.resolve(each), node) for key, each in parts_of(given)}
    if isinstance(given, Sequence):
        return run.own(Sequence("list", Content(tuple(batches.values())), run.site(node)))
    table: Mapping = run.own(Mapping(run.site(node)))
    for key, batch in batches.items():
        run.heap.set(table.fields, ("key", key), batch)
    return table
