"""Reads rows of datasets twice: does a row change each time it is read?

Where nothing in it stays, where several parts of one shape change, as in pairs of views, or where what stays is what the noise
was added to, chance is part of the task; where what stays is as large as what changes, that alone may be what the model gets.
"""

from __future__ import annotations

import copy
import itertools
import random
import sys
import weakref
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from ... import claims
from ..instrument import Instrument as Base
from .consuming import consumes
from .stored_samples import small_copy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...scopes import Here
    from ...watching.watch import Watch

ROWS = 4
CLAIMED = (claims.ROWS_CHANGE, claims.ROWS_CHANGE_BESIDE_TARGETS, claims.ROWS_HAVE_VIEWS)
DEEPEST = 4  # datasets, each a part of the next
STATES = 4  # of a dataset, in which its rows are read
TIMES = 4  # a flip that happens every second time stays unseen in one of 8 rows


class Instrument(Base):
    """Reads the first rows of every dataset that a loader is built over, and leaves the random numbers as they were.

    A dataset whose attributes change is read again before the next batch: its augmentation may be switched off for evaluation.
    What counts is then the state in which the fewest rows change.
    """

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._read: dict[int, tuple[Any, dict[str, Any], list[int], int]] = {}

    def on_dataset(self, dataset: Any, event: int) -> None:
        """A dataset was told of."""
        if not isinstance(dataset, self.watch.torch.utils.data.IterableDataset) and not consumes(
            self.watch.torch, dataset
        ):
            self._measure(dataset, event)

    def on_batch(self, batch: Any, here: Here, event: int) -> None:
        """A batch was taken."""
        for about, (kept, state, _, times) in list(self._read.items()):
            dataset = kept()
            if dataset is not None and times < STATES and _state(dataset) != state:
                self._measure(dataset, about)

    def _measure(self, dataset: Any, event: int) -> None:
        with self.watch.unwatched(), self._random_numbers_kept(dataset):
            try:
                twin = small_copy(self.watch, dataset)  # reading may change what a data set stores
                twin = dataset if twin is None else twin
                found = [self._changes(copy.copy(twin), row) for row in range(min(ROWS, len(dataset)))]
            except Exception:  # noqa: BLE001 - a dataset that fails will say so itself
                self._read.pop(event, None)
                return
        counted = [sum(each[place] for each in found) for place in range(len(CLAIMED))]
        _, _, before, times = self._read.get(event, (None, None, counted, 0))
        fewest = [min(pair) for pair in zip(before, counted)]  # noqa: B905 - one for each claim
        with suppress(TypeError):  # what has slots may not be referred to
            self._read[event] = weakref.ref(dataset), _state(dataset), fewest, times + 1
        for claim, number in zip(CLAIMED, fewest):  # noqa: B905 - one for each claim
            self.watch.recorder.measured(claim, number, "rows", about=[event])

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


def _state(dataset: Any) -> dict[str, Any]:
    """The attributes of a dataset, and of that which it is a part of: numbers and words as they are, else which object."""
    found: dict[str, Any] = {}
    for depth in range(DEEPEST):
        own = getattr(dataset, "__dict__", {})
        simple = (bool, int, float, str, type(None))
        found |= {f"{depth}.{name}": each if type(each) in simple else id(each) for name, each in own.items()}
        dataset = own.get("dataset")
    return found


def _labels(row: Any) -> list[Any]:
    """The numbers and words in a row, beside its tensors."""
    parts = list(row.values()) if isinstance(row, dict) else row if isinstance(row, (tuple, list)) else []
    return [part for part in parts if isinstance(part, (int, float, str, bytes))]
