"""What the worker processes of a loader do on the GPU: a data set or a collate function moves rows there, or it has them there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static import program as p
from torch_doctor.static.library import Stage, library_family
from torch_doctor.static.program.walking import walk
from torch_doctor.static.tables import words
from torch_doctor.static.tables.datasets import PARTS, TENSORS
from torch_doctor.static.training import collating, places, row_reading
from torch_doctor.static.training.data import datasets
from torch_doctor.static.training.device import devices
from torch_doctor.static.values import (
    GPU,
    Call,
    Const,
    Fact,
    Instance,
    Mapping,
    Sequence,
    Tensor,
    Tool,
    Unknown,
    Value,
)
from torch_doctor.trace import RowMoved

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Loader
    from torch_doctor.trace import Site

_ASKED = frozenset(words("shape dtype device ndim size dim numel"))
"""What worker processes may ask of a tensor wherever it is."""
_PUT = ("made", "moved")
STARTS = frozenset({"torch.multiprocessing.set_start_method", "multiprocessing.set_start_method"})
"""Functions that say how worker processes start."""


@library_family(STARTS, stage=Stage.NOTE)
def start_chosen(run: Run, _: str, __: Call) -> None:
    """Workers may be able to read what is on the GPU from here on."""
    run.heap.set(run.state.facts, Fact.SPAWNS, value=True)


def write(run: Run, loader: Loader, dataset: Value | None, node: p.Node) -> None:
    """Write the moves to the GPU of what a loader's data set gives, and in how many worker processes it is read."""
    dataset = None if dataset is None else run.resolve(dataset)
    while isinstance(dataset, Tool) and dataset.name in PARTS and dataset.args:
        dataset = run.resolve(dataset.args[0])
    given = loader.fields
    if not isinstance(dataset, (Instance, Tool)) or {"**", "multiprocessing_context"} & set(given):
        return
    workers = _workers(given.get("num_workers", Const(0)))
    name = dataset.cls.name if isinstance(dataset, Instance) else dataset.name.rpartition(".")[2]
    moves = dataset.fact(Fact.MOVES) if isinstance(dataset, Instance) else ()
    if workers and "collate_fn" in given:
        moves = (*moves, *_collating(run, loader, dataset))
    held = (
        () if not workers or run.state.fact(Fact.SPAWNS) else (site for row in _rows(dataset) for site in _put_at(row))
    )
    for site in dict.fromkeys((*moves, *held)):
        apart = site not in moves
        run.emit(RowMoved, site, class_name=name, workers=workers, loader_site=run.site(node), held=apart)


def _collating(run: Run, loader: Loader, dataset: Instance | Tool) -> list[Site]:
    """Where a collate function of the project moves samples to the GPU: it runs in the workers, too."""
    moves = places.Moves(run)
    with run.of(places.Placement).override(moves=moves):
        collating.looked_at(run, loader, datasets.item_of(run, dataset))
    return moves.sites


def _workers(given: object) -> int | None:
    return given.value if isinstance(given, Const) and isinstance(given.value, int) else None


def _rows(dataset: Instance | Tool) -> Iterator[Value]:
    """What a row is taken from: tensors side by side, or attributes that are read for it."""
    if isinstance(dataset, Tool):
        yield from dataset.args if dataset.name == TENSORS else ()
        return
    taken = [name for method in row_reading.readers(dataset) for name in _read_by(method)]
    for name in dict.fromkeys(taken):
        if isinstance(field := dataset.fields.get(name), Value):
            yield field


def _read_by(method: p.Function) -> Iterator[str]:
    """The attributes of itself that a method reads, but those that it only asks for a shape or a length."""
    asked: set[int] = set()
    for each in walk(method.body):
        if isinstance(each, p.Attribute) and each.name in _ASKED:
            asked.add(id(each.value))
        elif isinstance(each, p.Call) and isinstance(each.func, p.Name) and each.func.id == "len":
            asked.update(map(id, each.args))
    yield from (each.name for each in row_reading.of_itself(method) if id(each) not in asked)


def _put_at(value: Value) -> Iterator[Site]:
    """Where the script puts on the GPU what a row is taken from, wherever there is one."""
    if isinstance(value, Sequence):
        for each in value.content.all():
            yield from _put_at(each)
    elif isinstance(value, Mapping):
        for field in value.fields.values():
            yield from _put_at(field) if isinstance(field, Value) else ()
    elif isinstance(value, (Tensor, Unknown)):
        place = value.origin
        put = place.device == GPU and place.how in _PUT and all(devices.asks_for_gpu(test) for test, _ in place.needs)
        if put and place.since is not None:
            yield place.since
