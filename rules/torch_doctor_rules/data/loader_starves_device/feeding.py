"""Loaders whose batches go to a GPU, and what lets the GPU wait for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace import BatchTaken, Forward, LoopKind
from torch_doctor_rules.judging.loaders import Loaders
from torch_doctor_rules.judging.moves import on_gpu
from torch_doctor_rules.judging.sites import first_per_site

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import LoaderBuilt, Scope, Trace

UNATTENDED, CROWDED, RESTARTED, NOT_PINNED = "no workers", "too many workers", "workers that restart", "not pinned"
TENSORS = ("torch.utils.data.TensorDataset", "torch.utils.data.dataset.TensorDataset")


class Feeding:
    """What the loaders of one trace feed."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.loaders = trace.view(Loaders)
        self._fed: dict[int, list[BatchTaken]] = {}
        batches: dict[Scope, BatchTaken] = {}
        moved = on_gpu(trace)
        for event in trace.of(BatchTaken) if moved else ():
            if event.loader and event.scope.iterations():
                batches[event.scope.iterations()[-1]] = event
        for forward in trace.of(Forward):
            for scope in forward.scope.iterations() if forward.module in moved else ():
                if scope in batches and scope.loop_kind is LoopKind.BATCHES:
                    self._fed.setdefault(batches[scope].loader, []).append(batches[scope])

    def starving(self) -> Iterator[tuple[LoaderBuilt, str, BatchTaken]]:
        """The loaders that let a GPU wait, each place once, with the first reason and a use of the loader."""
        for loader in first_per_site(each for each in self.loaders.built.values() if each.loader in self._fed):
            how = self._how(loader)
            seen = not loader.unseen and loader.places is False and self._loads(loader.dataset)
            if how and (seen or how is CROWDED) and _is_plain(loader):
                yield loader, how, self._fed[loader.loader][0]

    def _how(self, loader: LoaderBuilt) -> str:
        if loader.workers == 0:
            return UNATTENDED
        if loader.workers and loader.cores and loader.workers > loader.cores:
            return CROWDED
        if loader.workers and loader.persistent is False and self.again(loader):
            return RESTARTED
        return NOT_PINNED if loader.pinned is False else ""

    def again(self, loader: LoaderBuilt) -> bool:
        """Whether several passes are made through the loader, over data that stays as it is: workers keep their copy."""
        if self._may_change(loader.dataset):
            return False
        own = {scope.loop for scope in loader.scope.iterations()}
        return any(
            scope.loop not in own and scope.loop_kind is not LoopKind.BATCHES
            for taken in self._fed[loader.loader]
            for scope in taken.scope.iterations()[:-1]
        )

    def _may_change(self, number: int) -> bool:
        """Whether a dataset may be given other rows between two passes."""
        dataset = self.loaders.datasets.get(number)
        return dataset is None or dataset.changes is True or any(map(self._may_change, dataset.parts))

    def _loads(self, number: int) -> bool:
        """Whether rows of a dataset are read one by one, so far as is known."""
        dataset = self.loaders.datasets.get(number)
        if dataset is None or dataset.iterable is not False or dataset.computes is False:
            return False
        if dataset.parts:
            return any(map(self._loads, dataset.parts))
        return bool(dataset.class_name) and dataset.class_name not in TENSORS


def _is_plain(loader: LoaderBuilt) -> bool:
    """Whether it is torch's own loader, and no library's that knows how its rows are loaded."""
    return loader.name.startswith("torch.utils.data") or loader.name == "DataLoader"
