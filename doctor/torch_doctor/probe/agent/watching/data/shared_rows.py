"""Which datasets read the same rows: by the indices of subsets, by the memory of their tensors, or row for row."""

from __future__ import annotations

import weakref
from contextlib import suppress
from typing import Any

from ...recorder import References
from .row_keys import FEWEST_NUMBERS, MOST_NUMBERS, MOST_ROWS, inputs, places, row_bytes, row_keys

ENOUGH = 0.5  # of the rows of the smaller one: some rows are equal by chance
SOME = 0.01  # of the rows of the smaller one, where the source says that rows were copied


class SharedRows:
    """Remembers the datasets that were told of, and finds those that have rows in common with another one.

    Of a subset it keeps which rows it has, so that one is known that is gone by the time that its rows are drawn again.
    """

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._told: list[tuple[int, weakref.ref[Any], set[int] | None]] = []
        self._rows: dict[int, set[Any]] = {}
        self._bases = References()

    def of(self, number: int, dataset: Any) -> dict[int, float]:
        """The numbers of the datasets before this one that read some of its rows, with the part of the smaller one."""
        found = {}
        own, own_rows = self._rooted(dataset)
        for other, reference, known_rows in self._told:
            known = reference()
            base, rows = self._rooted(known) if known_rows is None else (known, known_rows)
            if known is not None and known is not dataset and (share := self._share(base, rows, own, own_rows)):
                found[other] = share
        keeps = own_rows is not None and getattr(type(own), "__weakrefoffset__", 0) != 0
        self._told.append((number, weakref.ref(own if keeps else dataset), own_rows if keeps else None))
        return found

    def copied(self, number: int, dataset: Any) -> list[int]:
        """The numbers of the datasets before this one of which some rows equal its own, at whatever index."""
        rows: set[Any] = set()
        with suppress(Exception):  # a dataset of the script may hold anything, and know nothing of its length
            rows = self._contents(dataset)
        found = [other for other, known in self._rows.items() if _common(known, rows) >= SOME]
        self._rows[number] = rows
        return found

    def _contents(self, dataset: Any) -> set[Any]:
        """Its rows: their numbers, or where in which dataset they are; none where that costs too much."""
        base, rows = places(self._torch, dataset)
        if not rows:
            return set()
        tensor = inputs(self._torch, base)
        if tensor is not None and FEWEST_NUMBERS <= tensor[0].numel() <= MOST_NUMBERS // len(tensor):
            return set(row_keys(tensor[rows]))
        number = self._bases.number(base)  # another one may have its place in memory later
        return {(number, row) for row in rows}

    def _share(self, base: Any, rows: set[int] | None, other_base: Any, other_rows: set[int] | None) -> float:
        if base is other_base:
            return 0.0 if rows is None or other_rows is None else _common(rows, other_rows)
        kind = self._torch.utils.data.TensorDataset
        if rows is not None or other_rows is not None or type(base) is not kind or type(other_base) is not kind:
            return 0.0
        first, second = base.tensors[0], other_base.tensors[0]
        return _overlap(first, second) or self._equal(first, second)

    def _rooted(self, dataset: Any) -> tuple[Any, set[int] | None]:
        """The dataset that a subset takes its rows from in the end, and which of them; None for all."""
        if not isinstance(dataset, self._torch.utils.data.Subset):
            return dataset, None
        base, rows = self._rooted(dataset.dataset)
        indices = [int(each) for each in dataset.indices[:MOST_ROWS]]
        if rows is None:
            return base, set(indices)
        inner = [int(each) for each in dataset.dataset.indices]
        return base, {inner[each] for each in indices}

    def _equal(self, one: Any, other: Any) -> float:
        """How many rows of the smaller one are rows of the other, number for number; fewer than half say nothing."""
        fits = one.dtype == other.dtype and one.shape[1:] == other.shape[1:] and one.is_floating_point()
        if not fits or max(one.numel(), other.numel()) > MOST_NUMBERS or not min(len(one), len(other)):
            return 0.0
        if one[0].numel() < FEWEST_NUMBERS:
            return 0.0
        share = _common(set(row_bytes(one)), set(row_bytes(other)))
        return share if share >= ENOUGH else 0.0


def _common(one: set[Any], other: set[Any]) -> float:
    """How much of the smaller of two sets is in the other, from 0 to 1."""
    return len(one & other) / max(1, min(len(one), len(other)))


def _overlap(one: Any, other: Any) -> float:
    """How much memory of the smaller of two tensors is the other's, too, from 0 to 1."""
    if not (one.is_contiguous() and other.is_contiguous() and one.numel() and other.numel()):
        return 0.0
    sizes = [each.numel() * each.element_size() for each in (one, other)]
    begins = [each.data_ptr() for each in (one, other)]
    common = min(begins[0] + sizes[0], begins[1] + sizes[1]) - max(begins)
    return float(max(0, common) / min(sizes))
