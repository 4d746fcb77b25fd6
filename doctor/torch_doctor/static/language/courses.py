"""What a loop goes through, and in how many passes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from torch_doctor.static import program as p
from torch_doctor.static.flow import Flow
from torch_doctor.static.iteration import PASSES, UNROLLED, WALKED, Course
from torch_doctor.static.knowledge import Knowledge
from torch_doctor.static.language import streams
from torch_doctor.static.program.walking import breaks, exits, walk
from torch_doctor.static.state import per_run
from torch_doctor.static.training import sums
from torch_doctor.static.training.update import parameter_names
from torch_doctor.static.values import (
    COUNTER,
    ORDINAL,
    Call,
    Content,
    Fact,
    Instance,
    Lib,
    Loader,
    Module,
    Plain,
    Sequence,
    Stream,
    Value,
    fresh_symbol,
    plain_from,
)
from torch_doctor.trace import BatchTaken, LoopEntered, LoopKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch_doctor.static.run import Run
    from torch_doctor.trace import Site


class Taking(Knowledge):
    """The iterators of which the loops around take one item in each pass, and what they get in this one.

    `ends` are the handlers of their end, which comes after all of the passes.
    """

    current: tuple[tuple[Stream, Value], ...] = per_run(tuple)
    ends: frozenset[p.Handler] = per_run(frozenset)

    def item(self, stream: Stream) -> Value | None:
        """What the pass gets of an iterator; None where no loop around takes its items one by one."""
        return next((item for taken, item in reversed(self.current) if taken is stream), None)


def course_of(run: Run, over: p.Expr, body: tuple[p.Stmt, ...] = ()) -> Course:
    """How a `for` with this body goes through something."""
    value = run.evaluate(over)
    text = run.text(over)
    named = parameter_names.items(run, run.resolve(value), body) or _numbered(run, over, body)
    if named is not None:
        return Course(len(named), lambda number: named[number - 1], text, LoopKind.COUNTED, len(named))
    stream = streams.stream_of(run, value, over)

    def taken() -> None:
        name = _called(run, over, stream.loader) or text
        run.emit(
            BatchTaken, over, loader=stream.loader, name=name, handed_in=not leaves(body) and _handed_in(run, stream)
        )

    course = through(run, stream, text, body)
    return course if course.kind is not LoopKind.BATCHES else _telling(course, taken)


def _numbered(run: Run, over: p.Expr, body: tuple[p.Stmt, ...]) -> tuple[Value, ...] | None:
    """What a loop gets over parameters by their names, which `enumerate` numbers, or `zip` with numbers that do not end."""
    if not isinstance(over, p.Call) or not any(map(_by_names, over.args)) or not parameter_names.sets_flags(body):
        return None
    function = run.resolve(run.evaluate(over.func))
    name = function.name if isinstance(function, Lib) else ""
    if name not in ("builtins.enumerate", "builtins.zip"):
        return None
    given = [run.resolve(run.evaluate(each)) for each in over.args]
    found = [(number, parameter_names.items(run, each, body)) for number, each in enumerate(given)]
    named = [(number, items) for number, items in found if items is not None]
    others = [streams.stream_of(run, each) for each, (_, items) in zip(given, found, strict=True) if items is None]
    if len(named) != 1 or any(name == "builtins.zip" and each.length != math.inf for each in others):
        return None
    (place, items), numbers = named[0], Plain()
    if name == "builtins.enumerate":
        return tuple(Sequence("tuple", Content((numbers, item))) for item in items)
    beside = [each.item for each in others]
    return tuple(Sequence("tuple", Content((*beside[:place], item, *beside[place:]))) for item in items)


def _by_names(given: p.Expr) -> bool:
    return isinstance(given, p.Call) and isinstance(given.func, p.Attribute) and given.func.name == "named_parameters"


def _telling(course: Course, taken: Callable[[], None]) -> Course:
    """A course that tells in each pass that a batch is taken."""

    def item(number: int) -> Value:
        taken()
        return course.item(number)

    return replace(course, item=item)


def through(run: Run, stream: Stream, text: str, body: tuple[p.Stmt, ...]) -> Course:
    """How a loop with this body goes through a stream, which the user calls `text`."""
    content = stream.content
    most = WALKED if content is not None and all(map(_is_part, content.items)) else UNROLLED
    if content is not None and content.rest is None and len(content.items) <= most:
        items = content.items
        return Course(len(items), lambda number: items[number - 1], text, LoopKind.COUNTED, len(items))
    few = stream.length is not None and stream.length <= PASSES  # by the default of an option
    kind = LoopKind.BATCHES if stream.loader else LoopKind.COUNTED if few else LoopKind.PLAIN
    turn = fresh_symbol("turn")
    if stream.loader and not breaks(body):
        run.of(sums.Turns).loaders[turn[1]] = stream.loader
    if stream.step is not None:
        run.of(sums.Turns).steps[turn[1]] = stream.step
        run.of(sums.Turns).lengths[turn[1]] = stream.length
    passes = PASSES if run.loop_depth < 3 else 1
    length = None if stream.length == math.inf and leaves(body) else stream.length
    whole = stream.loader if stream.whole and not leaves(body) else 0
    return Course(
        passes,
        lambda number: renewed(stream.item, turn, number if passes > 1 else 0),
        text,
        kind,
        length,
        whole,
        turn[1],
    )


def entered(run: Run, site: Site, number: int, course: Course, before: int = 0) -> None:
    """Write that a loop begins, which has this number; `before` is the one that it had in an earlier pass of an outer loop."""
    run.emit(
        LoopEntered,
        site,
        loop=number,
        loop_kind=course.kind,
        over=course.over,
        length=course.length,
        whole=course.whole,
        before=before,
        turn=course.turn,
        validates=course.validates,
    )


def leaves(body: tuple[p.Stmt, ...]) -> bool:
    """Whether a loop with this body may end before what it goes through does."""
    return any(not isinstance(node, p.Continue) for node in exits(body))


def next_of(run: Run, iterator: Value, node: p.Node, name: str) -> Value:
    """The next item of an iterator: of a loader's it is a batch, and a class of the project says itself what it is."""
    iterator = run.resolve(iterator)
    if isinstance(iterator, Instance) and iterator.cls.find("__next__") is not None:
        return run.call(run.attribute(iterator, "__next__", node), Call((), {}, node, f"{name}.__next__"))
    stream = streams.stream_of(run, iterator)
    if stream.loader:
        run.emit(BatchTaken, node, loader=stream.loader, name=name)
    item = run.of(Taking).item(stream)
    return stream.item if item is None else item


def _called(run: Run, over: p.Expr, loader: int) -> str:
    """What the loader is called that a `zip` goes through beside other things; "" where it has no name there."""
    for call in walk(over):
        if isinstance(call, p.Call) and isinstance(call.func, p.Name) and call.func.id == "zip":
            for given in call.args:
                value = run.resolve(run.evaluate(given)) if isinstance(given, p.Name) else None
                if isinstance(value, Loader) and value.id == loader:
                    return run.text(given)
    return ""


def _handed_in(run: Run, stream: Stream) -> bool:
    """Whether callers out of sight gave the loader that is gone through, once from its begin to its end."""
    loader = run.objects.get(stream.loader)
    return isinstance(loader, Loader) and loader.fact(Fact.HANDED_IN) and stream.length is None


def _is_part(item: Value) -> bool:
    """Whether an item is a module, or one with its name."""
    if isinstance(item, Sequence) and item.kind == "tuple":
        return any(isinstance(each, Module) for each in item.content.items)
    return isinstance(item, Module)


def renewed(item: Value, turn: tuple[Any, ...], number: int) -> Value:
    """A pass's item: its numbers are decided anew in each pass; one that counts from 0 knows the first pass.

    `number` is 0 where the only pass stands for all of them.
    """
    if isinstance(item, Plain) and not item.tells_version:
        word, about = item.symbol[0], item.symbol[2:]
        if word == ORDINAL:
            return Plain((ORDINAL, item.symbol[1], *turn, number), item.size)
        counts = bool(number) and word == COUNTER
        symbol = (COUNTER, number == 1, *about, *turn, number) if counts else (*turn, number)
        return plain_from((), symbol, Flow(cuts=item.flow.cuts, lost=item.flow.lost, rows=item.flow.rows), item.size)
    if isinstance(item, Sequence) and item.kind == "tuple":
        content = item.content
        items = tuple(renewed(part, (*turn, i), number) for i, part in enumerate(content.items))
        return Sequence("tuple", Content(items, content.rest))
    return item


def counted(course: Course) -> bool:
    """Whether the passes of a course are exactly the loop's items."""
    return course.kind is LoopKind.COUNTED
