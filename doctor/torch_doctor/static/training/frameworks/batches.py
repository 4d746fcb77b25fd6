"""The batches that the owner of a loop goes through, executed as a loop of the script would be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from torch_doctor.static.flow import Flow
from torch_doctor.static.language import courses, loops, streams
from torch_doctor.static.training.data import batch_parts
from torch_doctor.static.values import Loader, Sequence, Stream, Unknown, Value
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
    stream = streams.stream_of(run, given) if isinstance(given, Loader) else None
    if stream is None:
        loader: Loader = run.own(Loader(None, over))
        batch = batch_parts.begun(run, Unknown(Flow(source=Source.LOADER, loader=loader.id)))
        stream = Stream(batch, None, loader.id)
    number = stream.loader
    pairs = streams.numbered(run, stream)
    course = replace(courses.through(run, pairs, over, ()), validates=validates)
    taken: list[Sequence] = []

    def begin(turn: int) -> bool:
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
