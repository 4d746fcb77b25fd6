"""What the batches of a loader are like: the mean and the deviation of the first ones."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..watch import Watch

BATCHES = 2  # of each loader that are measured
DEEPEST = 3
LARGEST = 10_000_000  # numbers in a tensor that is looked at
PICTURES, COLOURS = 4, 3  # the dimensions of a batch of pictures, and the channels of each


class Watcher:
    """Wraps the iterators of `DataLoader`, around the wrapper that tells of each batch."""

    installed_after = ("loaders",)

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._recorder = watch.recorder
        self._measured: dict[int, int] = {}

    def install(self) -> None:
        """Puts the wrapper in place."""
        iterator = self._watch.torch.utils.data.dataloader._BaseDataLoaderIter
        self._watch.patches.replace(iterator, "__next__", self._taking)

    def _taking(self, original: Any) -> Any:
        recorder, measure = self._recorder, self._measure

        def __next__(self: Any) -> Any:  # noqa: N807
            batch = original(self)
            if not recorder.quiet and not recorder.inside:
                recorder.safely(measure, getattr(self, "_torch_doctor_loader", 0), batch)
            return batch

        return __next__

    def _measure(self, loader: int, batch: Any) -> None:
        if self._measured.get(loader, 0) >= BATCHES:
            return
        self._measured[loader] = self._measured.get(loader, 0) + 1
        here, tensor = self._recorder.here(), self._first(batch, DEEPEST)
        if here.frame is None or tensor is None:
            return
        with self._watch.unwatched(), self._watch.torch.no_grad():
            numbers = tensor.detach().float()
            mean, std = float(numbers.mean()), float(numbers.std())
            channels = _channels(numbers)
        if math.isfinite(mean) and math.isfinite(std):
            self._recorder.event("BatchMeasured", here, loader=loader, mean=mean, std=std, channels=channels)

    def _first(self, value: Any, depth: int) -> Any:
        """The first tensor with floating numbers in rows."""
        if isinstance(value, self._watch.torch.Tensor):
            rows = value.is_floating_point() and value.dim() > 1 and 1 < value.numel() <= LARGEST
            return value if rows and not value.is_sparse else None
        inner = list(value.values()) if isinstance(value, dict) else value
        if not depth or not isinstance(inner, (list, tuple)):
            return None
        return next((found for each in inner if (found := self._first(each, depth - 1)) is not None), None)


def _channels(numbers: Any) -> list[float]:
    """The means of the three channels of a batch of pictures, wherever its shape has them; nothing for any other."""
    where = [place for place in (1, 3) if numbers.dim() == PICTURES and numbers.shape[place] == COLOURS]
    if len(where) != 1:
        return []
    return [float(mean) for mean in numbers.transpose(where[0], 0).flatten(1).mean(1)]
