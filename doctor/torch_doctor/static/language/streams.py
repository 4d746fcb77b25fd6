"""What loops go through, and in how many passes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from torch_doctor.static import program as p
from torch_doctor.static.domains.rows import classes
from torch_doctor.static.flow import Flow
from torch_doctor.static.language import containers, ranges, shape_items
from torch_doctor.static.library import Stage, library, library_family
from torch_doctor.static.tables import libraries, sinks
from torch_doctor.static.training.data import loader_roles
from torch_doctor.static.training.module import module_parts
from torch_doctor.static.training.unresolved import elsewhere
from torch_doctor.static.values import (
    COUNTER,
    ORDINAL,
    WHOLE,
    Call,
    Const,
    Content,
    Either,
    FunctionValue,
    Instance,
    Loader,
    Mapping,
    Module,
    Plain,
    Sequence,
    Stream,
    Tool,
    Unknown,
    Value,
    held,
    summary,
)
from torch_doctor.trace import (
    BatchTaken,
    LoaderBuilt,
    Source,
)

if TYPE_CHECKING:
    from torch_doctor.static.libraries.library import PassThrough
    from torch_doctor.static.run import Run


def stream_of(run: Run, value: Value, over: p.Expr | None = None) -> Stream:
    """What a loop over a value goes through, which the script writes as `over`."""
    value = loader_roles.gone_through(run, run.resolve(value), over)
    if isinstance(value, Stream):
        return value
    if isinstance(value, Plain) and (numbers := ranges.of_array(value)) is not None:
        return numbers
    if isinstance(value, Loader):
        return Stream(containers.element_of(run, value), None, value.id, whole=True)
    counted = isinstance(value, Module) and module_parts.listed(value) is not None
    if isinstance(value, (Sequence, Mapping)) or counted or shape_items.sizes_of(value) is not None:
        content = containers.content_of(run, value)
        everything = content.all()
        return Stream(summary(everything) if everything else Unknown(), content)
    if isinstance(value, Either):
        streams = [stream_of(run, option, over) for _, option in value.options]
        return Stream(summary(s.item for s in streams), None, next((s.loader for s in streams if s.loader), 0))
    if isinstance(value, Tool) and value.name.startswith("torch.utils.data."):
        return Stream(Unknown(Flow(source=Source.DATA)))
    if isinstance(value, Instance) and _gives_rows(value):
        return Stream(Unknown(Flow(graph=None, source=Source.DATA), held((value,))))
    item = containers.element_of(run, value)
    loader = value.flow.loader if isinstance(value, Unknown) else 0
    return Stream(item, None, 0 if loader and _within(run, loader) else loader)


def _within(run: Run, loader: int) -> bool:
    """Whether a loop around goes through the batches of a loader: what comes of it is a part of a batch, and not the loader."""
    around = run.scope.iterations()
    return any(event.loader == loader and event.scope in around for event in run.trace.of(BatchTaken))


def _gives_rows(value: Instance) -> bool:
    """Whether it is a hand-written loader: it makes what it gives one by one, and does not go through what it has."""
    found = value.cls.find("__iter__")
    makes = found is not None and isinstance(found[0], FunctionValue) and found[0].node.generator
    return found is not None and (makes or value.cls.find("__next__") is not None)


@library_family(libraries.PASS_THROUGH, stage=Stage.ADAPTER)
def passing(run: Run, name: str, call: Call) -> Value:
    """A function that gives the items of what it is given."""
    return passed_through(run, libraries.PASS_THROUGH[name], call, name if name in sinks.BARS else "")


@library("builtins.enumerate", "builtins.zip")
def paired(run: Run, name: str, call: Call) -> Value:
    """`enumerate(items)` and `zip(left, right)`."""
    return passed_through(run, libraries.PASS_THROUGH[name.removeprefix("builtins.")], call)


def passed_through(run: Run, passed: PassThrough, call: Call, bar: str = "") -> Value:
    """What `zip`, `enumerate`, `cycle` and their like make of what they are given: a stream of it; perhaps a progress bar."""
    position = passed.position
    given = call.argument(position, "iterable", "sequence")
    if given is None:
        return Stream(Plain(), bar=bar)
    if passed.style == "zip":
        streams = [stream_of(run, value, _given(call, number)) for number, value in enumerate(call.args)]
        item = Sequence("tuple", Content(tuple(stream.item for stream in streams)))
        exact = _contents(streams)
        content: Content | None = None
        if exact and all(c is not None and c.rest is None for c in exact):
            rows = zip(*(c.items for c in exact if c is not None), strict=False)
            content = Content(tuple(Sequence("tuple", Content(tuple(row))) for row in rows))
        loaders = list(dict.fromkeys(stream.loader for stream in streams if stream.loader))
        if any(elsewhere.chosen(run.resolve(value)) for value in call.args):
            loaders.append(0)  # another one, perhaps
        if len(loaders) > 1:
            _paired(run, loaders)
        lengths = [stream.length for stream in streams if stream.length is not None]
        length = min(lengths) if lengths and len(lengths) == len(streams) else None
        ending = [stream for stream in streams if stream.loader or stream.length != math.inf]
        whole = len(ending) == 1 and ending[0].whole
        return Stream(item, content, next(iter(loaders), 0), length=length, whole=whole)
    stream = stream_of(run, given, _given(call, position))
    if passed.style == "enumerate":
        return numbered(run, stream, call.argument(1, "start"))
    if passed.style == "cycle":
        return Stream(stream.item, None, stream.loader, length=math.inf, bar=bar)
    length, whole = (None, False) if passed.style == "part" else (stream.length, stream.whole)
    return Stream(stream.item, stream.content, stream.loader, length=length, bar=bar, whole=whole)


def numbered(run: Run, stream: Stream, start: Value | None = None) -> Stream:
    """What `enumerate` makes of a stream; it may be given where to start."""
    content = stream.content
    if content is not None and content.rest is None:
        content = Content(tuple(Sequence("tuple", Content((Const(i), item))) for i, item in enumerate(content.items)))
    index = _index(start or Const(0), of_batches=bool(stream.loader) and stream.length != math.inf)
    pair = Sequence("tuple", Content((classes.numbered(run, index, stream.item), stream.item)))
    return Stream(pair, content, stream.loader, length=stream.length, whole=stream.whole)


def _contents(streams: list[Stream]) -> list[Content | None]:
    """What each of the streams of a `zip` gives: one without an end gives its like for each item of the longest other."""
    known = [stream.content for stream in streams]
    longest = max((len(content.items) for content in known if content is not None), default=0)
    endless = [stream.length == math.inf and not stream.loader for stream in streams]
    return [
        Content((stream.item,) * longest) if content is None and longest and ends_not else content
        for stream, content, ends_not in zip(streams, known, endless, strict=True)
    ]


def _given(call: Call, position: int) -> p.Expr | None:
    """The argument at a place of the call, as the script writes it."""
    args = call.node.args if isinstance(call.node, p.Call) else ()
    return args[position] if position < len(args) else None


def _paired(run: Run, loaders: list[int]) -> None:
    """Loaders are gone through side by side: perhaps a batch of one belongs to that of the other."""
    for event in run.trace.of(LoaderBuilt):
        if event.loader in loaders:
            run.trace.replace(event, beside=event.beside | frozenset(loaders) - {event.loader})


def _index(start: Value, *, of_batches: bool) -> Plain:
    """What `enumerate` counts from a number."""
    first = start.value if isinstance(start, Const) else None
    if first == 0:
        return Plain((COUNTER, None, ORDINAL) if of_batches else (COUNTER, None), WHOLE)
    return Plain((ORDINAL, first) if of_batches and isinstance(first, int) else None, WHOLE)
