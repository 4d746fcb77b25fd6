"""Looks for consecutive numbers that samples of two loaders have in common, as overlapping windows of one series do."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from ..instrument import Instrument as Base

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...scopes import Here
    from ...watching.watch import Watch

RUN = 4  # consecutive numbers that are compared
BATCHES = 12  # of each loader
LONGEST = 2048  # numbers of a sample
MOST = 200_000  # runs of a batch


class Instrument(Base):
    """Compares the samples in the first batches of each loader, by their exact numbers."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._runs: dict[int, list[set[int]]] = {}
        self._batches: dict[int, int] = {}

    def on_batch(self, batch: Any, here: Here, event: int) -> None:
        """A loader gave a batch: the runs in its first tensor of fractions are kept."""
        for tensor in self.watch.marks.tensors(batch):
            loader = self.watch.marks.of(tensor).loader
            if loader and tensor.is_floating_point() and tensor.dim() in (2, 3) and tensor.numel():
                if self._batches.get(loader, 0) < BATCHES:
                    self._batches[loader] = self._batches.get(loader, 0) + 1
                    with self.watch.unwatched(), self.watch.torch.no_grad():
                        self._runs.setdefault(loader, []).extend(self._of(tensor))
                return

    def _of(self, tensor: Any) -> Iterator[set[int]]:
        """The runs of each sample: along its only dimension, or along both of two."""
        numbers = tensor.detach().cpu().float()
        views = [numbers] if numbers.dim() == 2 else [numbers, numbers.transpose(1, 2)]  # noqa: PLR2004
        found = [self._along(view[:, :LONGEST]) for view in views]
        return (set().union(*runs) for runs in zip(*found))  # noqa: B905 - one for each sample

    def _along(self, numbers: Any) -> list[set[int]]:
        """The runs of each sample along its first dimension, without those in which numbers repeat or are whole."""
        count, length = numbers.shape[:2]
        if length <= RUN or count * length > MOST:
            return [set() for _ in range(count)]
        runs = numbers.unfold(1, RUN, 1)
        first = runs if runs.dim() == 3 else runs[:, :, 0]  # noqa: PLR2004 - samples, places, numbers
        ordered = first.sort(dim=2).values
        tells = ((ordered[..., 1:] > ordered[..., :-1]).all(dim=2) & (first != first.floor()).all(dim=2)).tolist()
        flat = runs.flatten(2).contiguous()
        width = flat.shape[2] * flat.element_size()
        data = ctypes.string_at(flat.data_ptr(), flat.numel() * flat.element_size())
        places = flat.shape[1]
        return [
            {
                hash(data[start : start + width])
                for place in range(places)
                if tells[row][place]
                for start in ((row * places + place) * width,)
            }
            for row in range(count)
        ]

    def at_end(self, error: BaseException | None) -> None:
        """The script ended: tells of each pair of loaders how many samples have a run in common."""
        whole = {loader: set().union(*runs) for loader, runs in self._runs.items()}
        for loader, samples in self._runs.items():
            for other, known in whole.items():
                if other != loader:
                    shared = sum(not known.isdisjoint(runs) for runs in samples)
                    self.watch.recorder.event(
                        "SamplesShared",
                        self.watch.recorder.here(),
                        loader=loader,
                        other=other,
                        how="windows",
                        samples=len(samples),
                        shared=shared,
                    )
