"""Reads a row as two workers of a loader would: do they draw the same random numbers?"""

from __future__ import annotations

import random
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ... import claims
from ..instrument import Instrument as Base
from .consuming import consumes
from .stored_samples import small_copy

if TYPE_CHECKING:
    from collections.abc import Iterator

BASE = 20_240_229  # of the seeds, which every pass draws anew
TIMES = 8  # a row is read: what is drawn may decide little
MOST = 4096  # numbers of a row that are compared
DEEPEST = 3


class Instrument(Base):
    """Reads the first row of the dataset of every loader that asks for workers, and leaves all states as they were."""

    def on_loader(self, loader: Any, workers: int, setup: Any, event: int, site: int) -> None:
        """A loader was built."""
        dataset = getattr(loader, "dataset", None)
        torch = self.watch.torch
        if not workers or dataset is None or isinstance(dataset, torch.utils.data.IterableDataset):
            return
        if consumes(torch, dataset):
            return
        with self.watch.unwatched(), self._kept(dataset):
            twin = small_copy(self.watch, dataset)  # reading may change what a data set stores
            dataset = dataset if twin is None else twin
            try:
                first = self._rows(dataset, 0, workers, setup)
                second = self._rows(dataset, 1, workers, setup)
            except Exception:  # noqa: BLE001 - a dataset that fails will say so itself
                return
        if all(row == first[0] for row in first):
            return  # nothing random is in it
        recorder = self.watch.recorder
        if first != second:
            recorder.measured(claims.WORKERS_DIFFER, 1, "rows", site=site, about=[event])
            return
        recorder.event(
            "WorkersAlike",
            recorder.here(),
            site=site,
            loader=recorder.references.number(loader),
            loader_site=site,
            workers=workers,
            cause="",
            name=type(dataset).__name__,
            class_name=type(dataset).__name__,
            drawn_at=site,
        )

    def _rows(self, dataset: Any, worker: int, workers: int, setup: Any) -> list[Any]:
        """The first row, read several times by a worker that begins."""
        torch, numpy = self.watch.torch, sys.modules.get("numpy")
        inside = torch.utils.data._utils.worker
        seed = BASE + worker
        with self._kept(dataset):
            random.seed(seed)
            torch.manual_seed(seed)
            if numpy is not None:
                numpy.random.seed(seed)
            inside._worker_info = inside.WorkerInfo(id=worker, num_workers=workers, seed=seed, dataset=dataset)
            try:
                if setup is not None:
                    setup(worker)
                return [self._numbers(dataset[0]) for _ in range(TIMES)]
            finally:
                inside._worker_info = None

    def _numbers(self, value: Any, depth: int = DEEPEST) -> Any:
        """What can be compared of a row."""
        if isinstance(value, self.watch.torch.Tensor):
            return value.detach().reshape(-1)[:MOST].tolist()
        if depth and isinstance(value, dict):
            return [(str(key), self._numbers(item, depth - 1)) for key, item in value.items()]
        if depth and isinstance(value, (list, tuple)):
            return [self._numbers(item, depth - 1) for item in value]
        listed = getattr(value, "tolist", None)
        return listed() if callable(listed) else value if isinstance(value, (int, float, str, bytes)) else None

    @contextmanager
    def _kept(self, dataset: Any) -> Iterator[None]:
        """All states of generators, and the attributes of the dataset, are as before when this is over."""
        torch, numpy = self.watch.torch, sys.modules.get("numpy")
        fields = dict(vars(dataset))
        own = [(each, _state(each)) for each in self._generators(dataset)]
        before = torch.get_rng_state(), random.getstate(), None if numpy is None else numpy.random.get_state()
        try:
            yield
        finally:
            vars(dataset).clear()
            vars(dataset).update(fields)
            for each, state in own:
                _restore(each, state)
            torch.set_rng_state(before[0])
            random.setstate(before[1])
            if numpy is not None:
                numpy.random.set_state(before[2])

    def _generators(self, thing: Any, depth: int = DEEPEST) -> Iterator[Any]:
        """The generators that a dataset, its transforms and the dataset that it is a part of hold."""
        for value in list(getattr(thing, "__dict__", {}).values()):
            if _state(value) is not None:
                yield value
            elif depth and hasattr(value, "__dict__") and not isinstance(value, (type, self.watch.torch.nn.Module)):
                yield from self._generators(value, depth - 1)


def _state(thing: Any) -> Any:
    """The state of a generator of random numbers; None for anything else."""
    if hasattr(type(thing), "bit_generator"):
        return thing.bit_generator.state
    for name in ("getstate", "get_state"):
        read = getattr(type(thing), name, None)
        if read is not None and not isinstance(thing, type):
            return read(thing)
    return None


def _restore(thing: Any, state: Any) -> None:
    if hasattr(thing, "bit_generator"):
        thing.bit_generator.state = state
    elif hasattr(thing, "setstate"):
        thing.setstate(state)
    else:
        thing.set_state(state)
