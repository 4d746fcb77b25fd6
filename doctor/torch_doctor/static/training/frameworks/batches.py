"""The batches that the owner of a loop goes through, executed as a loop of the script would be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.flow import Flow
from torch_doctor.static.iteration import PASSES, Course
from torch_doctor.static.language import courses, loops, streams
from torch_doctor.static.training.data import batch_parts
from torch_doctor.static.values import Loader, Unknown, Value
from torch_doctor.trace import BatchTaken, LoopKind, Source

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run


def every(run: Run, node: p.Node, step: Callable[[Value], Value], over: str = "the batches") -> None:
    """Run something for every batch of a loader out of sight."""
    through(run, node, node, Unknown(), over, step)


def through(run: Run, body: p.Node, node: p.Node, given: Value, over: str, step: Callable[[Value], Value]) -> None:
    """Run something for every batch of what an owner of the loop was given, at `node`; `body` is what it runs.

    `over` is what the user calls the loader. Of what is no loader in sight, nothing is known but that it gives batches.
    """
    given = run.resolve(given)
    stream = streams.stream_of(run, given) if isinstance(given, Loader) else None
    if stream is not None:
        course = courses.through(run, stream, over, ())
        number = stream.loader
    else:
        loader: Loader = run.own(Loader(None, over))
        batch, number = batch_parts.begun(run, Unknown(Flow(source=Source.LOADER, loader=loader.id))), loader.id
        course = Course(PASSES, lambda _: batch, over, LoopKind.BATCHES)
    taken: list[Value] = []

    def begin(turn: int) -> bool:
        run.emit(BatchTaken, node, loader=number, name=over)
        taken.append(course.item(turn))
        return True

    def once() -> bool:
        step(taken[-1])
        return True

    loops.iterate(run, body, node.at, course, begin, once)
