"""Batches with fewer of their rows, or with smaller pictures."""

from __future__ import annotations

from typing import Any

SHORTEST = 64  # pixels of a smaller side
PICTURE = 3  # dimensions of one


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


def sides(batch: Any, torch: Any) -> tuple[int, int] | None:
    """The height and the width of its pictures, where these are so large that they may become smaller."""
    for each in batch.values() if type(batch) is dict else batch if type(batch) in (list, tuple) else (batch,):
        if type(each) in (list, tuple, dict):
            found = sides(each, torch)
        elif isinstance(each, torch.Tensor) and each.is_floating_point() and each.dim() >= PICTURE:
            found = (int(each.shape[-2]), int(each.shape[-1]))
        else:
            continue
        if found is not None and min(found) >= 2 * SHORTEST:
            return found
    return None


def thinned(batch: Any, of: tuple[int, int], times: int, torch: Any) -> Any:
    """The batch with every so manieth row and column of pixels, in all that has sides of these lengths."""
    if isinstance(batch, torch.Tensor):
        return batch[..., ::times, ::times].contiguous() if tuple(batch.shape[-2:]) == of else batch
    if type(batch) in (list, tuple):
        return type(batch)(thinned(each, of, times, torch) for each in batch)
    if type(batch) is dict:
        return {key: thinned(each, of, times, torch) for key, each in batch.items()}
    return batch
