"""Data loaders: what their constructors are given, whoever wraps them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static import program as p
from torch_doctor.static.library import library_family
from torch_doctor.static.measuring import measured
from torch_doctor.static.measuring.arguments import is_counted
from torch_doctor.static.tables import data, training
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.tables.datasets import PARTS, ROWS, TENSORS
from torch_doctor.static.training import orders, row_reading, rows, splitting
from torch_doctor.static.training.data import arrays, stretches, worker_reads
from torch_doctor.static.training.device import devices
from torch_doctor.static.training.unresolved import elsewhere, presence
from torch_doctor.static.values import (
    Bound,
    Call,
    ClassValue,
    Const,
    Default,
    Either,
    Fact,
    FunctionValue,
    Instance,
    Keywords,
    Lib,
    Loader,
    Method,
    Object,
    Plain,
    Sequence,
    Spread,
    Tensor,
    Tool,
    Unknown,
    Value,
    constant,
    symbol_of,
)
from torch_doctor.trace import EpochSet, LoaderBuilt, Tri

if TYPE_CHECKING:
    from torch_doctor.static.run import Run


SHUFFLE = 3
"""The place of `shuffle` among the arguments of `DistributedSampler`."""


@library_family(training.loader_of)
def loader_built(run: Run, name: str, call: Call) -> Value:
    """Construct a data loader."""
    loader: Loader = run.own(Loader(run.site(call.node), name))
    run.of(presence.Loads).any = True
    parameters = data.LOADER_PARAMETERS.get(name)
    given = dict(zip(parameters or ("dataset",), call.args, strict=False)) | call.keywords
    open_ = "**" in call.keywords or any(isinstance(value, Spread) for value in call.args)
    for key, value in given.items():
        loader.fields[key] = value
    dataset = given.get("dataset")
    sampler = given.get("sampler")
    if isinstance(sampler, Tool) and sampler.args and dataset is not None:
        splitting.indexed(run, dataset, sampler.args[0])
    size, indices = given.get("batch_size"), _indices(sampler)
    own = not _is_none(given.get("collate_fn"))
    run.emit(
        LoaderBuilt,
        call.node,
        loader=loader.id,
        name=name,
        dataset=rows.describe(run, dataset, call.node),
        shuffle=_said(given.get("shuffle"), default=None if parameters is None or open_ else False),
        explicit="shuffle" in given,
        sampled=_sampled(given, open_=parameters is None or open_),
        indexed=sampler.id if isinstance(sampler, Tool) and indices is not None else 0,
        draws_all=_draws_all(run, dataset, sampler),
        stretches=() if indices is None else stretches.of(run, (indices,)),
        drop_last=_said(given.get("drop_last"), default=None if open_ else False),
        full=isinstance(size, Plain) and isinstance(dataset, Object) and size.symbol == ("len", dataset.id),
        workers=_number(given.get("num_workers"), default=None if parameters is None or open_ else 0),
        batch=0
        if isinstance(size, Const) and size.value is None
        else _number(size, default=None if parameters is None or open_ else 1),
        rows=None if parameters is None or open_ or _sampled(given, open_=False) is not False else _length(dataset),
        batches=None if parameters is None or open_ else _batches(given),
        sampler=_distributed(given.get("sampler")) or _distributed(given.get("batch_sampler")),
        pinned=_said(given.get("pin_memory"), default=None if parameters is None or open_ or own else False),
        persistent=_said(given.get("persistent_workers"), default=None if parameters is None or open_ else False),
        places=_places(run, dataset, given.get("collate_fn")),
        unseen=isinstance(size, (Lib, Unknown)) or _unseen(run, dataset),
        chosen=isinstance(size, Default),
        orders=orders.behind(run, dataset, sampler),
    )
    worker_reads.write(run, loader, dataset, call.node)
    for observe in run.observers.built:
        observe(run, loader, call)
    return loader


def called(run: Run, loader: Loader, name: str) -> None:
    """Write the first name that a data loader gets to the event of its construction."""
    for built in run.trace.of(LoaderBuilt):
        if built.loader == loader.id and not built.called:
            run.trace.replace(built, called=name)


def filled_up(run: Run, loader: Loader) -> None:
    """Write that the last batches of a loader are filled up with other samples."""
    for built in run.trace.of(LoaderBuilt):
        if built.loader == loader.id:
            run.trace.replace(built, filled_up=True)


def _batches(given: Keywords) -> int | None:
    """How many batches one pass gives, from the sizes of what is in sight."""
    size = given.get("batch_size", Const(1))
    length = _length(given.get("dataset"))
    whole = _said(given.get("drop_last"), default=False)
    if length is None or whole is None or _sampled(given, open_=False) is not False:
        return None
    if not isinstance(size, Const) or type(size.value) is not int or size.value < 1:
        return None
    return length // size.value if whole else -(-length // size.value)


def _length(dataset: Value | None) -> int | None:
    """How many rows a dataset of tensors, a list, a part of a split, or a library's own dataset has."""
    if isinstance(dataset, Tool) and dataset.fact(Fact.LENGTH) is not None:
        return _number(dataset.fact(Fact.LENGTH), default=None)
    if isinstance(dataset, Tool) and canonical(dataset.name) in ROWS:
        train = dataset.keywords.get("train", dataset.args[1] if len(dataset.args) > 1 else Const(value=True))
        in_training, in_test = ROWS[canonical(dataset.name)]
        return (in_training if train.value else in_test) if isinstance(train, Const) else None
    if isinstance(dataset, Instance):
        return _told(dataset)
    if isinstance(dataset, Sequence):
        return len(dataset.content.items) if is_counted(dataset) else None
    if isinstance(dataset, Tool) and canonical(dataset.name) == TENSORS:
        dataset = dataset.args[0] if dataset.args else None
    shape = measured(dataset).shape if isinstance(dataset, Tensor) else None
    return shape[0] if shape and isinstance(shape[0], int) else None


def _told(dataset: Instance) -> int | None:
    """The number of rows that the `__len__` of a project's data set returns: a number, or how long an attribute is."""
    written = _written(dataset)
    if isinstance(written, p.Const):
        return written.value if type(written.value) is int else None
    if isinstance(written, p.Attribute):
        return _number(dataset.fields.get(written.name), default=None)
    rows = _rows(dataset)
    if isinstance(rows, Plain):
        rows = arrays.tensor_of(rows)
    return (_length(rows) or None) if isinstance(rows, (Tensor, Sequence)) else None


def _written(dataset: Instance) -> p.Expr | None:
    """What the `__len__` of a project's data set returns, where it does nothing else."""
    found = dataset.cls.find("__len__")
    body = found[0].node.body if found is not None and isinstance(found[0], FunctionValue) else ()
    last = body[-1] if body else None
    return last.value if isinstance(last, p.Return) and len(body) == 1 else None


def _rows(dataset: Instance) -> Value | None:
    """The attribute of a project's data set that its `__len__` counts: its rows."""
    written = _written(dataset)
    of = written.args[0] if isinstance(written, p.Call) and written.args else None
    found = dataset.fields.get(of.name) if isinstance(of, p.Attribute) else None
    return found if isinstance(found, Value) else None


def _said(value: Value | None, *, default: Tri) -> Tri:
    """A setting, as far as it is known."""
    if value is None:
        return default
    return bool(value.value) if isinstance(value, Const) else None


def _unseen(run: Run, dataset: Value | None) -> bool:
    """Whether a dataset comes from code out of sight, or the tensors or the dataset in it do."""
    if dataset is None:
        return False
    dataset = run.resolve(dataset)
    if isinstance(dataset, Tool) and (dataset.name == TENSORS or dataset.name in PARTS):
        return any(_unseen(run, given) for given in dataset.args)
    if isinstance(dataset, Instance):
        return elsewhere.chosen(_rows(dataset)) or _is_counted_elsewhere(run, dataset)
    return isinstance(dataset, (Lib, Unknown))


def _is_counted_elsewhere(run: Run, dataset: Instance) -> bool:
    """Whether code out of sight says how many rows a project's data set has."""
    written, found = _written(dataset), dataset.cls.find("__len__")
    if not isinstance(written, p.Call) or found is None or not isinstance(found[0], FunctionValue):
        return False
    return row_reading.is_unseen(run, written.func, found[0].closure.globals)


def _sampled(given: Keywords, *, open_: bool) -> Tri:
    """Whether a sampler decides the order."""
    values = [given[key] for key in ("sampler", "batch_sampler") if key in given]
    values = [value for value in values if not (isinstance(value, Const) and value.value is None)]
    if not values:
        return None if open_ else False
    return True if all(isinstance(value, (Tool, Instance, Sequence)) for value in values) else None


def _indices(sampler: Value | None) -> Value | None:
    """The indices that a sampler draws its samples at."""
    if not isinstance(sampler, Tool) or canonical(sampler.name) not in data.INDEXED:
        return None
    return sampler.args[0] if sampler.args else sampler.keywords.get("indices")


def _draws_all(run: Run, dataset: Value | None, sampler: Value | None) -> bool:
    """Whether a sampler draws each sample of a dataset: it was given the dataset alone, or all its indices."""
    if not isinstance(sampler, Tool) or dataset is None:
        return False
    if canonical(sampler.name) in data.COMPLETE:
        return len(sampler.args) == 1 and sampler.args[0] is dataset and not sampler.keywords
    indices = _indices(sampler)
    end = None if indices is None else stretches.end_of(run, indices)
    if end is None:
        return False
    length = ("len", dataset.id) if isinstance(dataset, Object) else None
    return symbol_of(end) == length or (isinstance(end, Const) and constant(end) == _length(dataset) is not None)


def _is_none(value: Value | None) -> bool:
    return value is None or (isinstance(value, Const) and value.value is None)


def _places(run: Run, *makers: Value | None) -> Tri:
    """Whether what makes batches speaks of devices; None where one of them is not in sight."""
    found: Tri = False
    for maker in makers:
        if isinstance(maker, Either):
            known = _places(run, *(option for _, option in maker.options))
        elif isinstance(maker, Instance):
            known = any(devices.spoken_of(run, cls.node) for cls in maker.cls.mro() if isinstance(cls, ClassValue))
        elif isinstance(maker, (FunctionValue, Bound)):
            known = devices.spoken_of(run, (maker if isinstance(maker, FunctionValue) else maker.function).node)
        elif isinstance(maker, Tool):
            known = _places(run, *(each for each in maker.args if isinstance(each, (Tool, Instance, Either))))
        else:
            known = False if maker is None or isinstance(maker, (Const, Lib, Sequence, Tensor)) else None
        found = True if found or known else None if known is None else found
    return found


def _distributed(value: Value | None) -> int:
    """The distributed sampler that shuffles, on some path at least: the value itself, or what it makes batches of."""
    if isinstance(value, Either):
        return next((number for _, option in value.options if (number := _distributed(option))), 0)
    if not isinstance(value, Tool):
        return 0
    if canonical(value.name) in data.DISTRIBUTED_SAMPLERS:
        shuffle = value.keywords.get("shuffle", value.args[SHUFFLE] if len(value.args) > SHUFFLE else None)
        return value.id if shuffle is None or (isinstance(shuffle, Const) and shuffle.value) else 0
    inner = value.keywords.get("sampler", value.args[0] if value.args else None)
    return _distributed(inner) if value.name.endswith(".BatchSampler") else 0


def epoch_set(run: Run, func: Value, node: p.Node) -> None:
    """`sampler.set_epoch(epoch)`."""
    of = func.of if isinstance(func, Method) else None
    run.emit(EpochSet, node, sampler=of.id if isinstance(of, Tool) else 0)


def _number(value: Value | None, *, default: int | None) -> int | None:
    if value is None:
        return default
    return value.value if isinstance(value, Const) and isinstance(value.value, int) else None
