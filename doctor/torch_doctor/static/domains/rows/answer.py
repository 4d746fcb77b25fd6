"""The answer of this engine: the rows of a data set, with where they come from and what has prepared them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from torch_doctor.static.domains.rows import holding
from torch_doctor.static.flow import NONE, PART
from torch_doctor.static.measuring import measured
from torch_doctor.static.tables import data as table
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.tables.datasets import TENSORS
from torch_doctor.static.training import drawing, hub_rows, row_reading
from torch_doctor.static.training.data import datasets, preparers, stretches
from torch_doctor.static.values import (
    Bound,
    Const,
    Default,
    Fact,
    FunctionValue,
    Instance,
    Lib,
    Plain,
    Sequence,
    Tensor,
    Tool,
    Unknown,
    Value,
)
from torch_doctor.trace import (
    BY_HAND,
    COUNTS,
    VOCABULARY,
    Fitted,
    Preparation,
    PreparerBuilt,
    Rows,
    RowsRead,
    WindowsCut,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from torch_doctor.static.run import Run
    from torch_doctor.trace import Event, Site, Stretch

ALL: Final = "all"
RANDOM: Final = "a random part"
WINDOWS: Final = "overlapping windows"
OWN: Final = "scaled by statistics of its rows"
_PREPARE: Final = ("torchvision.", "albumentations.", "torchaudio.", "kornia.")
_JOINS: Final = frozenset(("Compose", "Sequential"))


def rows_of(run: Run, value: Value) -> Rows:
    """Return the rows of a data set, by its class and what it was given."""
    value = run.resolve(value)
    if isinstance(value, Tool) and canonical(value.name) in table.SUBSETS and value.args:
        return _part(run, value)
    if isinstance(value, Unknown):
        stored = hub_rows.of(run, value)
        return Rows() if stored is None else Rows(stored.text, ALL, "stored" if stored.stored else "")
    if not isinstance(value, (Tool, Instance, Sequence, Tensor)):
        return Rows()
    steps, complete = _steps(run, value)
    order = "drawn" if isinstance(value, Instance) and row_reading.draws(value) else ""
    taken = stretches.of(run, _parts(value))
    return Rows(_source(value), _bounds(taken) or ALL, order, tuple(steps), complete, _sample(run, value))


def _parts(value: Value) -> Iterator[Value]:
    """The arrays that a data set consists of."""
    if isinstance(value, Instance):
        yield from (each for each in value.fields.values() if isinstance(each, Value))
    elif isinstance(value, Tool):
        yield from value.args


def _bounds(taken: Iterable[Stretch]) -> str:
    """Slices in the words of Python."""
    return ", ".join(dict.fromkeys(f"[{_bound(each.start)}:{_bound(each.stop)}]" for each in taken))


def _part(run: Run, value: Tool) -> Rows:
    """The rows of a subset."""
    whole = rows_of(run, value.args[0])
    indices = value.args[1] if len(value.args) > 1 else value.keywords.get("indices")
    drawn = value.fact(Fact.PORTION) is not ... or (indices is not None and _is_drawn(run, indices))
    taken = () if indices is None else stretches.of(run, (indices,))
    bounds = _bounds(taken)
    selection = f"{RANDOM} {bounds}".strip() if drawn else bounds
    return replace(whole, selection=selection, order="shuffled" if drawn else whole.order)


def _is_drawn(run: Run, indices: Value) -> bool:
    return bool(drawing.among(run, holding.rows_in(indices)))


def _steps(run: Run, value: Value) -> tuple[list[Preparation], bool]:
    """What prepares the rows of a data set, and whether that is all."""
    by_site: dict[Site | None, Preparation] = {}
    items = run.of(datasets.Items)
    inputs = items.prepared.get(value.id, NONE) if isinstance(value, Instance) else NONE
    for event in run.trace.at(*sorted((holding.rows_in(value) | inputs) - {PART})):
        step = _of_event(event, inputs)
        if step is not None:  # what is fitted has two events
            by_site.setdefault(step.site, step)
    found = [*by_site.values()]
    cut = items.windows.get(value.id) if isinstance(value, Instance) else None
    found += [] if cut is None else [Preparation(WINDOWS, cut)]
    found += [
        Preparation(_name(part), getattr(part, "born", None)) for each in _held(value) for part in _chain(run, each)
    ]
    return [step for step in dict.fromkeys(found) if step.name], all(step.name for step in found)


def _of_event(event: Event, inputs: frozenset[int]) -> Preparation | None:
    """The step that an event in the history of rows is, or of the inputs among them."""
    if isinstance(event, RowsRead):
        return Preparation("read from a file", event.site)
    if isinstance(event, WindowsCut):
        return Preparation(WINDOWS, event.site)
    if isinstance(event, PreparerBuilt):
        if preparers.in_short(event)[0] == VOCABULARY:
            words = event.index in inputs
            if event.sort == COUNTS and not words:
                return None
            return Preparation(f"{'words' if words else 'classes'} numbered by {event.name}", event.site)
        return Preparation(OWN if event.name == BY_HAND else event.name, event.site)
    return Preparation(event.name, event.site) if isinstance(event, Fitted) else None


def _chain(run: Run, value: Value) -> Iterator[Value]:
    """The transforms that one consists of."""
    value = run.resolve(value)
    joins = isinstance(value, Tool) and canonical(value.name).rpartition(".")[2] in _JOINS
    if isinstance(value, Tool) and joins and value.args and isinstance(value.args[0], Sequence):
        for each in value.args[0].content.all():
            yield from _chain(run, each)
    else:
        yield value


def _sample(run: Run, value: Value) -> str:
    item = datasets.item_of(run, value) if isinstance(value, (Tool, Instance)) else None
    parts = item.content.items if isinstance(item, Sequence) else () if item is None else (item,)
    texts = [_type(part) for part in parts]
    return ", ".join(texts) if texts and all(texts) else ""


def _bound(number: int | None) -> str:
    return "" if number is None else str(number)


def _held(value: Value) -> Iterator[Value]:
    """What a data set holds that may prepare its rows."""
    if isinstance(value, Instance):
        yield from (each for each in value.fields.values() if isinstance(each, Value) and _prepares(each))
    elif isinstance(value, Tool) and canonical(value.name) != TENSORS:
        yield from (each for each in value.args if _prepares(each))
        yield from (
            each for key, each in value.keywords.items() if key in table.PREPARING and not isinstance(each, Const)
        )


def _prepares(value: Value) -> bool:
    """Whether a value is a function, a transform of a library, or one of the project."""
    if isinstance(value, Instance):
        return value.cls.find("__call__") is not None
    return isinstance(value, (FunctionValue, Bound)) or (
        isinstance(value, Tool) and canonical(value.name).startswith(_PREPARE)
    )


def _name(step: Value) -> str:
    """A step in the words of the script, with the numbers that it is given; "" where nothing is known of it."""
    if isinstance(step, Tool):
        given = [_constant(each) for each in step.args]
        given += [f"{key}={_constant(each)}" for key, each in step.keywords.items()]
        return f"{canonical(step.name).rpartition('.')[2]}({', '.join(given)})"
    if isinstance(step, Instance):
        return step.cls.name
    return (
        step.function.node.name
        if isinstance(step, Bound)
        else step.node.name
        if isinstance(step, FunctionValue)
        else ""
    )


def _constant(value: Value) -> str:
    if isinstance(value, Const) and not isinstance(value, Default):
        return repr(value.value)
    if isinstance(value, Sequence) and value.content.rest is None:
        return f"[{', '.join(map(_constant, value.content.items))}]"
    return value.name.rpartition(".")[2] if isinstance(value, Lib) else "…"


def _source(value: Value) -> str:
    """What rows come from, with the constants that tell it from others."""
    if isinstance(value, Instance):
        args, keywords = value.fact(Fact.ARGUMENTS)
        name = value.cls.name
    elif isinstance(value, Tool):
        args, keywords, name = value.args, value.keywords, canonical(value.name).rpartition(".")[2]
    else:
        return "a list" if isinstance(value, Sequence) else "a tensor"
    told = [repr(each.value) for each in args if isinstance(each, Const)]
    told += [f"{key}={each.value!r}" for key, each in keywords.items() if isinstance(each, Const)]
    return f"{name}({', '.join(told)})" if told else name


def _type(value: Value) -> str:
    if isinstance(value, Tensor):
        meta = measured(value)
        shape = "?" if meta.shape is None else ", ".join("?" if size is None else str(size) for size in meta.shape)
        return f"{meta.dtype or '?'}[{shape}]"
    return "number" if isinstance(value, (Const, Plain)) else ""
