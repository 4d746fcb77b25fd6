"""Reads rows of datasets twice: does a row change each time it is read?"""

from __future__ import annotations

import copy
import random
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from .. import claims
from .instrument import Instrument as Base

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
                changed = sum(self._changes(copy.copy(dataset), row) for row in range(min(ROWS, len(dataset))))
            except Exception:  # noqa: BLE001 - a dataset that fails will say so itself
                return
        self.watch.recorder.measured(claims.ROWS_CHANGE, changed, "rows", about=[event])

    def _changes(self, dataset: Any, row: int) -> bool:
        first, *others = ([*self.watch.marks.tensors(dataset[row])] for _ in range(TIMES))
        return any(
            len(first) != len(other) or any(a.shape != b.shape or not self._same(a, b) for a, b in zip(first, other))  # noqa: B905 - as long
            for other in others
        )

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
