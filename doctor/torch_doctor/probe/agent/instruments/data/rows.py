"""Reads rows of datasets twice: does a row change each time it is read?

Where nothing in it stays, where several parts of one shape change, as in pairs of views, or where what stays is what the noise
was added to, chance is part of the task; where what stays is as large as what changes, that alone may be what the model gets.
"""

from __future__ import annotations

import copy
import itertools
import random
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from ... import claims
from ..instrument import Instrument as Base

if TYPE_CHECKING:
    from collections.abc import Iterator

ROWS = 4
TIMES = 4  # a flip that happens every second time stays unseen in one of 8 rows


class Instrument(Base):
    """Reads the first rows of every dataset that a loader is built over, and leaves the random numbers as they were."""

    def on_dataset(self, dataset: Any, event: int) -> None:
        """A dataset was told of."""
        torch = self.watch.torch
        if isinstance(dataset, torch.utils.data.IterableDataset):
            return
        with self.watch.unwatched(), self._random_numbers_kept(dataset):
            try:
                found = [self._changes(copy.copy(dataset), row) for row in range(min(ROWS, len(dataset)))]
            except Exception:  # noqa: BLE001 - a dataset that fails will say so itself
                return
        measured = self.watch.recorder.measured
        claimed = (claims.ROWS_CHANGE, claims.ROWS_CHANGE_BESIDE_TARGETS, claims.ROWS_HAVE_VIEWS)
        for place, claim in enumerate(claimed):
            measured(claim, sum(each[place] for each in found), "rows", about=[event])

    def _changes(self, dataset: Any, row: int) -> tuple[bool, bool, bool]:
        """Whether a row is another one when it is read again, whether what it is compared with stays, and whether it has views."""
        rows = [dataset[row] for _ in range(TIMES)]
        first, *others = ([*self.watch.marks.tensors(each)] for each in rows)
        if any(len(other) != len(first) for other in others):
            return True, False, False
        moving: list[Any] = []
        staying: list[Any] = []
        for place, one in enumerate(first):
            stays = all(one.shape == other[place].shape and self._same(one, other[place]) for other in others)
            (staying if stays else moving).append(one)
        clean = any(
            one.is_floating_point() and one.dim() and one.shape == other.shape for one in staying for other in moving
        )
        views = any(
            one.is_floating_point() and one.dim() > 1 and one.shape == other.shape
            for one, other in itertools.combinations(moving, 2)
        )
        targets = bool(staying) or (all(map(_labels, rows)) and len({repr(_labels(each)) for each in rows}) == 1)
        sizes = [max((one.numel() for one in parts), default=0) for parts in (moving, staying)]
        return bool(moving), sizes[0] > sizes[1] and targets and not clean and not views, views

    def _same(self, left: Any, right: Any) -> bool:
        return bool(((left == right) | ((left != left) & (right != right))).all())  # noqa: PLR0124 - NaN is not itself

    @contextmanager
    def _random_numbers_kept(self, dataset: Any) -> Iterator[None]:
        torch, numpy = self.watch.torch, sys.modules.get("numpy")
        own = [each for each in vars(dataset).values() if isinstance(each, (torch.Generator, random.Random))]
        states = [each.get_state() if isinstance(each, torch.Generator) else each.getstate() for each in own]
        before = torch.get_rng_state(), random.getstate(), None if numpy is None else numpy.random.get_state()
        try:
            yield
        finally:
            torch.set_rng_state(before[0])
            random.setstate(before[1])
            if numpy is not None:
                numpy.random.set_state(before[2])
            for each, state in zip(own, states):  # noqa: B905 - one for each
                with suppress(Exception):
                    each.set_state(state) if isinstance(each, torch.Generator) else each.setstate(state)


def _labels(row: Any) -> list[Any]:
    """The numbers and words in a row, beside its tensors."""
    parts = list(row.values()) if isinstance(row, dict) else row if isinstance(row, (tuple, list)) else []
    return [part for part in parts if isinstance(part, (int, float, str, bytes))]
