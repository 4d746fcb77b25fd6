"""Batches with fewer of their rows."""

from __future__ import annotations

from typing import Any


def cut(batch: Any, rows: int, most: int, torch: Any) -> Any:
    """The first rows of a batch that has `rows`; the batch itself where something in it is no tensor of rows."""
    try:
        return _cut(batch, rows, most, torch)
    except TypeError:
        return batch


def _cut(batch: Any, rows: int, most: int, torch: Any) -> Any:
    if isinstance(batch, torch.Tensor) and batch.dim() and len(batch) == rows:
        return batch[:most].clone()
    if type(batch) in (list, tuple) and batch:
        return type(batch)(_cut(each, rows, most, torch) for each in batch)
    if type(batch) is dict:
        return {key: _cut(each, rows, most, torch) for key, each in batch.items()}
    raise TypeError
