"""Which rows datasets read, in which order, and what they take them from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from torch_doctor.static.domains.rows import classes, identity
from torch_doctor.static.flow import NONE
from torch_doctor.static.libraries import hugging_face
from torch_doctor.static.tables import data
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.tables.datasets import TENSORS
from torch_doctor.static.training import augmenting, hub_rows, row_reading, splitting, told_rows
from torch_doctor.static.training.data import datasets, stretches
from torch_doctor.static.values import (
    Either,
    Fact,
    Instance,
    Making,
    Mapping,
    Object,
    ParameterValue,
    Plain,
    Sequence,
    Tensor,
    Tool,
    Unknown,
    Value,
)
from torch_doctor.trace import DatasetBuilt, Site, Source, Tri

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run
    from torch_doctor.trace import Stretch
    from torch_doctor.trace.events import Trail

_LISTS = frozenset(("repeat_interleave", "view", "reshape", "flatten", "long", "to", "float", "clone"))
"""What leaves numbers in the order in which they were counted."""


def describe(run: Run, value: Value | None, node: p.Node | Site) -> int:
    """Tell of the dataset that a loader is built over, and of what it reads from; 0 where nothing is known of it."""
    if isinstance(value, (Plain, Unknown)) and _is_iterable(run, value):
        return _built(run, value, node, iterable=True).dataset
    if value is None or isinstance(value, Unknown):
        stored = None if value is None else hub_rows.of(run, value)
        return 0 if stored is None else _stored(run, stored, node)
    value = run.resolve(value)
    number = value.id if isinstance(value, Object) else 0
    if number and number in run.of(told_rows.Datasets).events:
        told_rows.tell_here(run, number)
        return number
    event = _read(run, value, node)
    if event is None:
        return 0
    run.of(told_rows.Datasets).events[event.dataset] = event
    return event.dataset


def _stored(run: Run, rows: hub_rows.Rows, node: p.Node | Site) -> int:
    """The number of a data set of a hub that has these rows."""
    known = run.of(told_rows.Datasets)
    key = f"{rows.text}{rows.order}"
    if key not in known.stored:
        whole = replace(rows, order="") if rows.order else rows.of
        parts = () if whole is None else (_stored(run, whole, node),)
        event = _built(
            run,
            Unknown(),
            node,
            class_name=hugging_face.DATASET,
            iterable=False,
            shuffled=False if rows.stored else None,
            parts=parts,
            rows=rows.text,
            stretches=rows.stretches,
        )
        known.events[event.dataset] = event
        known.stored[key] = event.dataset
    told_rows.tell_here(run, known.stored[key])
    return known.stored[key]


def _is_iterable(run: Run, value: Plain | Unknown) -> bool:
    """Whether the current path has asked for the class of what is not known, and it gives rows in its own order."""
    asked = (fact for fact, arm in run.assumed.items() if arm and fact[:2] == ("isinstance", value.symbol))
    return any(all(data.iterable(name) for name in fact[2:]) for fact in asked)


def _read(run: Run, value: Value, node: p.Node | Site) -> DatasetBuilt | None:
    if isinstance(value, Tool):
        return _of_library(run, value, node)
    if isinstance(value, Instance):
        return _of_project(run, value, node)
    if isinstance(value, Either):
        return _one_of(run, value, node)
    if isinstance(value, (Sequence, Mapping)):
        items = value.content.all() if isinstance(value, Sequence) else ()
        numbers = NONE.union(*(classes.of_sample(run, run.resolve(item)) for item in items))
        return _built(
            run, value, node, rows=f"object {value.id}", iterable=False, shuffled=_random([value]), numbers=numbers
        )
    if isinstance(value, (Tensor, ParameterValue)):
        return _built(run, value, node, iterable=False, shuffled=_random([value]))
    if isinstance(value, Plain):
        return _built(run, value, node, rows=repr(value.symbol), iterable=False)
    return None


def _built(
    run: Run,
    value: Value,
    node: p.Node | Site,
    *,
    class_name: str = "",
    iterable: Tri = None,
    shuffled: Tri = None,
    parts: tuple[int, ...] = (),
    rows: str = "",
    augments: Trail = (),
    computes: Tri = None,
    changes: Tri = None,
    stretches: tuple[Stretch, ...] = (),
    windows: Site | None = None,
    numbers: frozenset[int] = NONE,
    drawn: bool = False,
    views: bool = False,
    decides: bool = False,
) -> DatasetBuilt:
    thing = value if isinstance(value, Object) else Object()
    site = thing.born or (node if isinstance(node, Site) else run.site(node))
    event: DatasetBuilt = run.emit(
        DatasetBuilt,
        site,
        dataset=thing.id,
        class_name=class_name,
        iterable=iterable,
        shuffled=shuffled,
        parts=parts,
        rows=rows,
        augments=augments,
        computes=computes,
        changes=changes,
        several=thing.fact(Fact.SEVERAL),
        stretches=stretches,
        splits=splitting.splits_of(run, value),
        windows=windows,
        classes=numbers,
        drawn=drawn,
        views=views,
        decides=decides,
    )
    return event


def _of_library(run: Run, value: Tool, node: p.Node | Site) -> DatasetBuilt:
    name = canonical(value.name)
    given = value.args[0] if value.args else value.keywords.get("dataset") or value.keywords.get("datasets")
    if name in data.SUBSETS:
        base = run.of(told_rows.Datasets).events.get(describe(run, given, node))
        portion = value.fact(Fact.PORTION)
        indices = value.args[1] if len(value.args) > 1 else value.keywords.get("indices")
        text = f"part {value.id}" if portion is not ... else "" if indices is None else identity.text(indices)
        return _built(
            run,
            value,
            node,
            class_name=name,
            iterable=base.iterable if base else False,
            shuffled=True if portion is not ... or (base is not None and base.shuffled) else None,
            parts=(base.dataset,) if base else (),
            rows=f"{base.rows}[{text}]" if base and base.rows and text and portion is not None else "",
            stretches=() if indices is None else stretches.of(run, (indices,)),
        )
    if name in data.CONCATENATIONS:
        parts = [run.of(told_rows.Datasets).events.get(describe(run, item, node)) for item in _listed(given)]
        known = [part for part in parts if part is not None]
        return _built(
            run,
            value,
            node,
            class_name=name,
            iterable=True if any(part.iterable for part in known) else False if known else None,
            shuffled=True
            if any(part.shuffled for part in known)
            else False
            if parts and len(known) == len(parts) and all(part.shuffled is False for part in known)
            else None,
            parts=tuple(part.dataset for part in known),
        )
    stored = name.startswith(data.STORED)
    rows = identity.key(name, value.args, value.keywords)
    return _built(
        run,
        value,
        node,
        class_name=name,
        iterable=data.iterable(name),
        shuffled=False if stored else _random([*value.args, *value.keywords.values()]),
        rows=rows if data.iterable(name) is False else "",
        augments=augmenting.augments(run, value),
        views=augmenting.gives_views(run, value),
        numbers=classes.of_arrays(run, value) if name == TENSORS else NONE,
        stretches=stretches.of(run, value.args),
    )


def _of_project(run: Run, value: Instance, node: p.Node | Site) -> DatasetBuilt | None:
    names = [canonical(name) for name in value.cls.libraries()]
    own_order = value.cls.find("__iter__") is not None and value.cls.find("__getitem__") is None
    known = next((found for name in names if (found := data.iterable(name)) is not None), None)
    if known is None and value.cls.find("__getitem__") is not None and not value.cls.opaque_base():
        known = False
    args, keywords = value.fact(Fact.ARGUMENTS)
    drew = value.fact(Fact.DREW) is not False
    datasets.item_of_project(run, value)
    drawn = row_reading.draws(value)
    return _built(
        run,
        value,
        node,
        class_name=value.cls.name,
        iterable=True if own_order or any(data.iterable(name) for name in names) else known,
        shuffled=True if drawn or value.fact(Fact.REORDERED) else None,
        rows="" if drew else identity.key(value.cls.name, args, keywords, identity.state(value)),
        augments=augmenting.augments(run, value),
        views=augmenting.gives_views(run, value),
        computes=row_reading.computes(run, value),
        changes=row_reading.changes(value),
        windows=run.of(datasets.Items).windows.get(value.id),
        numbers=run.of(datasets.Items).classes.get(value.id, NONE),
        drawn=drawn,
        decides=row_reading.decides(value),
    )


def _one_of(run: Run, value: Either, node: p.Node | Site) -> DatasetBuilt | None:
    found = [run.of(told_rows.Datasets).events.get(describe(run, option, node)) for _, option in value.options]
    known = [event for event in found if event is not None]
    if not known:
        return None
    whole = len(known) == len(found)
    return _built(
        run,
        value,
        node,
        class_name=known[0].class_name,
        iterable=False if whole and all(event.iterable is False for event in known) else None,
        shuffled=True
        if any(event.shuffled for event in known)
        else False
        if whole and all(event.shuffled is False for event in known)
        else None,
    )


def _random(values: Iterable[Value]) -> Tri:
    """Whether rows are drawn at random one by one: True for noise, whose order is as random as any; else None.

    Noise around what was listed in an order, as classes one after the other, keeps that order.
    """
    return (
        True
        if any(value.flow.source is Source.NOISE for value in values) and not any(map(_is_listed, values))
        else None
    )


def _is_listed(value: Value) -> bool:
    """Whether a tensor consists of numbers in an order that is written down: counted, and each repeated."""
    made = value.meta if isinstance(value, Tensor) else None
    while isinstance(made, Making) and made.args and made.name in _LISTS:
        value = made.args[0]
        made = value.meta if isinstance(value, Tensor) else None
    return isinstance(made, Making) and made.name == "arange" and isinstance(value, Tensor)


def _listed(value: Value | None) -> tuple[Value, ...]:
    return value.content.all() if isinstance(value, Sequence) else ()
