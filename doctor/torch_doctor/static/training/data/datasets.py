"""What a data loader's batches consist of, as far as its data set tells: tensors with their dtypes and shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from torch_doctor.static import dispatch
from torch_doctor.static.budget import OutOfBudget
from torch_doctor.static.domains import shifting
from torch_doctor.static.domains.channels import PictureOf
from torch_doctor.static.domains.marking import Marked, Numbers
from torch_doctor.static.domains.padding import Padded
from torch_doctor.static.domains.rows import classes, holding, windows
from torch_doctor.static.domains.scale import ScaleOf
from torch_doctor.static.flow import EMPTY, NONE, UNSEEN, Flow
from torch_doctor.static.knowledge import Lasting
from torch_doctor.static.language import invocation
from torch_doctor.static.measuring import making, measured
from torch_doctor.static.state import per_run
from torch_doctor.static.tables import datasets
from torch_doctor.static.training import augmenting, collating, mapped_rows, pixels, places
from torch_doctor.static.training.data import arrays, batch_parts, preparers, transforming
from torch_doctor.static.values import (
    CPU,
    NAMED,
    NOWHERE,
    ON_CPU,
    Call,
    Const,
    Content,
    Fact,
    FunctionValue,
    Instance,
    Lib,
    Loader,
    Making,
    Mapping,
    Meta,
    Origin,
    Plain,
    Sequence,
    Tensor,
    Tool,
    Unknown,
    Value,
    number_dtype,
    shapes,
)
from torch_doctor.trace import Kind, Reordered, Source

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values.shapes import Returned, Size
    from torch_doctor.trace import Site


class Items(Lasting):
    """What the project's data sets give."""

    known: dict[int, tuple[dict[object, object], Value]] = per_run(dict)  # by their numbers, with their attributes then
    windows: dict[int, Site] = per_run(dict)  # where overlapping windows are cut that these are
    classes: dict[int, frozenset[int]] = per_run(dict)  # by which orders their classes are numbered
    prepared: dict[int, frozenset[int]] = per_run(dict)  # what scales or numbers their inputs when they are read


STEPS = 300
"""Steps that the look at one item of a project's data set may take."""


def batch_of(run: Run, loader: Loader) -> Value:
    """What one pass over a loader gets."""
    data = loader.fields.get("dataset")
    data_set = whole(run, data)
    item = item_of(run, data) if isinstance(data, Value) else None
    flow = Flow(source=Source.LOADER, loader=loader.id, rows=_prepared(run, data_set))
    size = _batch_size(loader)
    # Who puts items together may move them.
    opaque = loader.fact(Fact.ELSEWHERE) or not {"collate_fn", "**"}.isdisjoint(loader.fields)
    known = not opaque and not _keeps_moved(run, data_set)
    place = Origin(how="batch", since=loader.born, loaders=_sorts(data_set, loader)) if known else NOWHERE
    if size is None or "collate_fn" in loader.fields or "**" in loader.fields:
        flow = preparers.collated(run, data_set, flow)
        known_batch = None if size == 1 else collating.collated(run, loader, item, flow)  # one row is as long as itself
        return known_batch or batch_parts.begun(run, Unknown(flow, origin=NOWHERE if _elsewhere(item) else place))
    return _batched(run, item, size, flow, place)


def whole(run: Run, data: object) -> Value | None:
    """The data set that this is a part of, or itself."""
    data = run.resolve(data) if isinstance(data, Value) else None
    while isinstance(data, Tool) and data.name in datasets.PARTS and data.args:
        data = run.resolve(data.args[0])
    return data


def _prepared(run: Run, data: Value | None) -> frozenset[int]:
    """What has prepared the rows of a data set of the project, or of what nobody knows more of: all that it holds."""
    if not isinstance(data, (Instance, Unknown)):
        return NONE
    return preparers.within_data(run, data, run.of(Items).prepared.get(getattr(data, "id", 0), NONE))


def _keeps_moved(run: Run, data: Value | None) -> bool:
    """Whether a data set of the project keeps what may be on another device than the CPU: its rows may be there too."""
    kept = data.fields.values() if isinstance(data, Instance) else ()
    return any(isinstance(value, Value) and places.is_away(run, places.of(value)) for value in kept)


def _elsewhere(item: Value | None) -> bool:
    """Whether something of an item may be on another device than the CPU."""
    if isinstance(item, Sequence):
        return any(map(_elsewhere, item.content.all()))
    return isinstance(item, (Tensor, Unknown)) and item.origin.known and item.origin.device != CPU


def _sorts(data: Value | None, loader: Loader) -> frozenset[object]:
    """The loader, and the class of its data set: what is moved of one pass is to be moved of the others."""
    sort: object = data.cls if isinstance(data, Instance) else data.name if isinstance(data, Tool) else ""
    return frozenset((loader.id, sort)) if sort and sort != datasets.TENSORS else frozenset((loader.id,))


def _batch_size(loader: Loader) -> Size:
    if loader.name != datasets.LOADER:
        return None
    given = loader.fields.get("batch_size")
    if given is None:
        return shapes.BATCH if "batch_sampler" in loader.fields else 1
    if isinstance(given, Const):
        return None if given.value is None else 1 if given.value == 1 else shapes.BATCH
    return shapes.BATCH


def item_of(run: Run, data: Value) -> Value | None:
    """One item of a data set; None where it is not known."""
    data = run.resolve(data)
    if isinstance(data, Tool):
        if data.name in datasets.PARTS and data.args:
            return item_of(run, data.args[0])
        if data.name == datasets.TENSORS:
            rows = [_row(run, value) for value in data.args]
            return Sequence("tuple", Content(tuple(rows)))
        if data.name in datasets.LABELLED and not any(name in data.keywords for name in datasets.TARGETS_CHANGED):
            place = ON_CPU if all(map(_stays, (*data.args, *data.keywords.values()))) else NOWHERE
            raw = pixels.of_transform(run, data.keywords.get("transform"))
            made = transforming.of_library_data(run, data) if raw is None else pixels.tensor(raw, "")
            image = Unknown(origin=place) if made is None else made.at(place) if raw is None else made
            label = Tensor(kind=Kind.LABELS, meta=Meta("int64", ())).at(ON_CPU)
            return Sequence("tuple", Content((image, label)))
    return item_of_project(run, data) if isinstance(data, Instance) else mapped_rows.row_of(run, data)


def _stays(value: Value) -> bool:
    """Whether a transform of images is torchvision's own: none of these moves anything."""
    if isinstance(value, Sequence):
        return all(map(_stays, value.content.all()))
    if isinstance(value, Tool):
        own = value.name.startswith("torchvision.transforms") and not value.name.endswith(".Lambda")
        return own and all(map(_stays, (*value.args, *value.keywords.values())))
    return isinstance(value, (Const, Plain, Lib))


def item_of_project(run: Run, data: Instance) -> Value:
    """One item of a data set of a project's class; its `__getitem__` is looked at once while its attributes stay."""
    then, item = run.of(Items).known.get(data.id, (None, None))
    if item is None or then is None or not _as_it_was(data, then):
        then, item = dict(data.fields), _item_of_project(run, data)
        run.of(Items).known[data.id] = then, item
    return item


def _as_it_was(data: Instance, then: dict[object, object]) -> bool:
    """Whether a data set has the attributes that it had then: another arm may have set them."""
    return len(then) == len(data.fields) and all(data.fields.get(name) is value for name, value in then.items())


def _row(run: Run, value: Value) -> Value:
    flow = Flow(rows=preparers.within(run, value))
    if not isinstance(value, Tensor):
        place = places.of(value)
        return Unknown(flow, origin=place if place.known else Origin(device=NAMED))  # nobody knows where
    return pixels.like(value, Tensor(flow, meta=making("unbind", (value,)))).at(places.of(value))


def _item_of_project(run: Run, data: Instance) -> Value:
    """What `__getitem__` of a project's class returns: it is run aside, and nothing of it happens."""
    found = data.cls.find("__getitem__")
    if found is None or not isinstance(found[0], FunctionValue):
        return Unknown()
    with run.aside(STEPS):
        applied: augmenting.Calls = []
        by_hand: list[tuple[Site, str]] = []
        scaled: list[holding.Computed] = []
        cut: list[Site] = []
        index = Plain(size=Making("number", (), of="int64"))
        try:
            with (
                run.of(augmenting.Applied).override(transforms=(run.fork_depth, applied), by_hand=by_hand),
                run.of(windows.CutWindows).override(index=index.symbol, data=data, found=cut),
                run.of(holding.Rows).override(item=scaled),
            ):
                result = invocation.enter(run, found[0], Call((data, index), {}, found[0].node))
        except OutOfBudget:
            result = Unknown()
        shuffles = bool(run.trace.of(Reordered))
        result = run.resolve(result)
        item = _copied(run, result)
        if applied and not by_hand:
            item = augmenting.apart(item)
    run.of(Items).classes[data.id] = classes.of_sample(run, result)
    run.of(Items).prepared[data.id] = preparers.of_item(run, scaled) | classes.of_inputs(run, result)
    if cut:
        run.of(Items).windows[data.id] = cut[0]
    if shuffles:
        data.facts[Fact.REORDERED] = True  # not logged: it was looked at aside, once for all paths
    return item


def _copied(run: Run, value: Value) -> Value:
    """What stays true of an item when the run that made it is undone."""
    value = run.resolve(value)
    if isinstance(value, Sequence) and value.content.rest is None:
        return Sequence(value.kind, Content(tuple(_copied(run, item) for item in value.content.items)))
    if isinstance(value, Mapping) and "rest" not in value.fields:
        mapping = Mapping(value.born)
        for key, item in value.fields.items():
            if isinstance(item, Value):
                mapping.fields[key] = _copied(run, item)
        return mapping
    flow = Flow(chance=value.flow.chance) if value.flow.chance else EMPTY
    if isinstance(value, Tensor):
        kind = value.kind if value.kind is Kind.LABELS else Kind.UNKNOWN
        place = ON_CPU if value.origin.fresh else value.origin
        return pixels.like(value, Tensor(flow, kind, meta=_lasting(run, value))).at(place)
    array = arrays.tensor_of(value)
    if array is not None:
        kind = array.kind if array.kind is Kind.LABELS else Kind.UNKNOWN
        return Tensor(flow, kind, meta=_lasting(run, array)).at(ON_CPU)
    if run.ask(PictureOf, value) is not None or run.ask(ScaleOf, value) is not None:
        return Tensor(flow, meta=making("from_numpy", (value,))).at(ON_CPU)
    if isinstance(value, Const) or number_dtype(value):
        return value
    return Unknown(replace(UNSEEN, chance=True)) if value.flow.chance else Unknown()


def _lasting(run: Run, value: Tensor) -> Meta | Making | Returned | None:
    """How a tensor was made, where that tells of pictures, padding or marks, or which stretch it is; else its dtype and shape."""
    if run.ask(Padded, value) is not None:
        return run.of(Padded).lasting(value)
    tells = shifting.is_stretch(value) or shifting.is_row(value) or run.ask(PictureOf, value) is not None
    tells = tells or run.ask(Marked, value) is Numbers.MARKS or run.ask(ScaleOf, value) is not None
    return value.meta if tells else measured(value)


def batched(run: Run, item: Value, flow: Flow) -> Value:
    """What a trainer of a library makes of items, of which nobody says how many there are."""
    return _batched(run, item, shapes.BATCH, flow, NOWHERE)


def _batched(run: Run, item: Value | None, size: Size, flow: Flow, place: Origin) -> Value:
    """What the loader makes of items: tensors become one with a dimension more, numbers a tensor, on the CPU.

    A tensor stays where its data set has put it; `place` is where it is if nobody knows of that.
    """
    part = places.part(place)
    if isinstance(item, (Tensor, Unknown)) and item.flow.rows:
        flow = replace(flow, rows=flow.rows | item.flow.rows)
    if isinstance(item, (Tensor, Unknown)) and item.flow.chance is not None:
        flow = replace(flow, chance=item.flow.chance)
    if isinstance(item, Sequence) and item.kind in ("tuple", "list"):
        parts = tuple(_batched(run, each, size, flow, place) for each in item.content.items)
        return run.own(Sequence("tuple", Content(parts)))
    if isinstance(item, Mapping):
        mapping: Mapping = run.own(Mapping(item.born))
        for key, each in item.fields.items():
            mapping.fields[key] = _batched(run, each, size, flow, place)
        return mapping
    if isinstance(item, (Const, Plain)) and number_dtype(item):
        dtype = number_dtype(item).replace("floating", "float64")
        made = Tensor(flow, Kind.LABELS if dtype == "int64" else Kind.UNKNOWN, meta=Meta(dtype, (size,)))
        return made.at(_of_item(ON_CPU, part))
    if isinstance(item, Tensor):
        meta = making("batch", (item,), of=size)
        labels = item.kind is Kind.UNKNOWN and measured(item) == Meta("int64", ())
        made = Tensor(flow, Kind.LABELS if labels or item.kind is Kind.LABELS else Kind.UNKNOWN, meta=meta)
        return pixels.like(item, made).at(_of_item(item.origin, part))
    own = item.origin if isinstance(item, Unknown) else NOWHERE
    return batch_parts.begun(run, Unknown(flow, origin=part if item is None else _of_item(own, part)))


def _of_item(own: Origin, part: Origin) -> Origin:
    """Where a batch is whose items are there: it is known of a loader's that nobody else gives."""
    if not own.known or not part.known:
        return part
    return replace(part, device=CPU, sized=True) if own.device == CPU else NOWHERE


dispatch.VERBS["batch_of"] = batch_of
