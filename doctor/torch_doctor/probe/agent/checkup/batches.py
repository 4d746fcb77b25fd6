"""Batches: the tensors in them, other ones in their place, and more of them from a loader."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from time import monotonic
from typing import Any

from .keeping import Chance

DEEP = 5
MANY = 500


def leaves(batch: Any, path: str = "", deep: int = DEEP) -> list[tuple[str, Any]]:
    """The tensors in a batch, each with the expression that leads to it, as in `batch[0]["image"]`."""
    path = path or "batch"
    if hasattr(batch, "untyped_storage") and not isinstance(batch, type):
        return [(path, batch)]
    found: list[tuple[str, Any]] = []
    if not deep:
        return found
    if isinstance(batch, Mapping):
        for key, value in list(batch.items())[:MANY]:
            found += leaves(value, f"{path}[{key!r}]", deep - 1)
    elif isinstance(batch, (tuple, list)):
        names = getattr(batch, "_fields", None)
        for number, value in enumerate(batch[:MANY]):
            found += leaves(value, f"{path}.{names[number]}" if names else f"{path}[{number}]", deep - 1)
    elif hasattr(batch, "__dict__"):
        for name, value in list(vars(batch).items())[:MANY]:
            if not name.startswith("_"):
                found += leaves(value, f"{path}.{name}", deep - 1)
    return found


def carries(item: Any, batch: Any) -> bool:
    """Whether the item of a loop is a batch, or has it in it as `enumerate` and `zip` give it."""
    return is_same(item, batch) or (isinstance(item, tuple) and any(carries(each, batch) for each in item))


def is_same(item: Any, batch: Any) -> bool:
    """Whether an item is a batch, or a container like it of the same tensors: who moves them to a device makes another."""
    if item is batch or type(item) is not type(batch):
        return item is batch
    own, others = leaves(item), leaves(batch)
    paths = [path for path, _ in own] == [path for path, _ in others]
    return bool(own) and paths and all(one is other for (_, one), (_, other) in zip(own, others))


def replaced(item: Any, held: Any, batch: Any, number: int) -> Any:
    """The item of a loop with another batch in it, and another number where `enumerate` counts."""
    if is_same(item, held):
        return batch
    if isinstance(item, tuple) and type(item) is tuple:
        counts = len(item) > 1 and type(item[0]) is int
        return tuple(
            number if counts and place == 0 else replaced(each, held, batch, number) for place, each in enumerate(item)
        )
    return item


def changed(batch: Any, change: Any, path: str = "", deep: int = DEEP) -> Any:
    """A copy of a batch in which `change(path, tensor)` is in the place of each tensor."""
    path = path or "batch"
    if hasattr(batch, "untyped_storage") and not isinstance(batch, type):
        return change(path, batch)
    if not deep:
        return batch
    if isinstance(batch, dict):
        made = copy.copy(batch)
        for key, value in batch.items():
            made[key] = changed(value, change, f"{path}[{key!r}]", deep - 1)
        return made
    if isinstance(batch, (tuple, list)):
        names = getattr(batch, "_fields", None)
        parts = [
            changed(value, change, f"{path}.{names[number]}" if names else f"{path}[{number}]", deep - 1)
            for number, value in enumerate(batch)
        ]
        return type(batch)(*parts) if names else type(batch)(parts)
    if hasattr(batch, "__dict__"):
        made = copy.copy(batch)
        for name, value in list(vars(batch).items()):
            if not name.startswith("_"):
                made.__dict__[name] = changed(value, change, f"{path}.{name}", deep - 1)
        return made
    return batch


def copied_batch(batch: Any) -> Any:
    """A copy of a batch, with tensors of its own."""
    return changed(batch, lambda _, tensor: tensor.detach().clone().requires_grad_(tensor.requires_grad))


def taken(torch: Any, loader: Any, most: int, seconds: float) -> tuple[list[Any], list[Any]]:
    """The first batches of a new pass over a loader, and the indices in its data set that each asked for.

    Random numbers are as they were before. None of a dataset that only comes as a stream, of which nobody knows whether it can
    be read twice.
    """
    found: list[Any] = []
    asked: list[Any] = []
    if loader is None or isinstance(getattr(loader, "dataset", None), torch.utils.data.IterableDataset):
        return found, asked
    samplers = (
        loader,
        getattr(loader, "sampler", None),
        getattr(getattr(loader, "batch_sampler", None), "sampler", None),
    )
    chance = Chance(torch, tuple(getattr(each, "generator", None) for each in samplers))
    limit = monotonic() + seconds
    try:
        iterator = iter(loader)
        _listen(iterator, asked)
        for batch in iterator:
            found.append(batch)
            if len(found) >= most or monotonic() > limit:
                break
    finally:
        chance.restore()
    return found, asked[: len(found)]


def spread(torch: Any, loader: Any, most: int, seconds: float) -> tuple[list[Any], list[Any]]:
    """Batches from all over the data of a loader that would give it in order, with the indices of each; none of another loader.

    Its first batches would not stand for a data set that is sorted. Each batch has indices from the whole range, so fewer than
    `most` are as representative.
    """
    data = torch.utils.data
    dataset: Any = getattr(loader, "dataset", None)
    plain = type(getattr(loader, "sampler", None)) is data.SequentialSampler
    if not plain or type(getattr(loader, "batch_sampler", None)) is not data.BatchSampler or len(loader) <= most:
        return [], []
    size, total = int(loader.batch_size), len(dataset)
    chance = Chance(torch, (getattr(loader, "generator", None),))
    limit = monotonic() + seconds
    found: list[Any] = []
    asked = [[(row * most + batch) * total // (size * most) for row in range(size)] for batch in range(most)]
    try:
        for indices in asked:
            found.append(loader.collate_fn([dataset[each] for each in indices]))
            if monotonic() > limit:
                break
    except Exception:  # noqa: BLE001 - the data set can be read in the loader's own way only
        return [], []
    finally:
        chance.restore()
    return found, list(asked[: len(found)])


def _listen(iterator: Any, asked: list[Any]) -> None:
    """Has an iterator of a loader remember the indices that it reads, where it reads them one batch after the other."""
    following = getattr(iterator, "_next_index", None)
    if not callable(following) or type(iterator).__name__ != "_SingleProcessDataLoaderIter":
        return

    def _next_index() -> Any:
        asked.append(following())
        return asked[-1]

    iterator._next_index = _next_index


def rows(batch: Any) -> int:
    """How many rows a batch has: the length that most of its tensors have; 0 where they have none."""
    sizes = [each.shape[0] for _, each in leaves(batch) if each.dim()]
    return max(sizes, key=sizes.count) if sizes else 0


def is_made_of(tensor: Any, leaf: Any) -> bool:
    """Whether a tensor has the numbers of a part of a batch, whatever its form and type."""
    if tensor is leaf:
        return True
    if tensor is None or not hasattr(tensor, "untyped_storage") or tensor.numel() != leaf.numel() or not leaf.numel():
        return False
    if not is_dense(tensor) or not is_dense(leaf):
        return False
    one, other = tensor.detach().reshape(-1), leaf.detach().reshape(-1).to(tensor.device)
    return bool((one == other.to(one.dtype)).all())


def is_dense(tensor: Any) -> bool:
    """Whether all numbers of a tensor are there to be looked at."""
    return "strided" in str(tensor.layout) and not tensor.is_quantized and not tensor.is_meta


def broken(tensor: Any) -> int:
    """How many values are not finite; none in a mask of zeros and negative infinity, as attention takes it."""
    if not tensor.is_floating_point() or not is_dense(tensor) or not tensor.numel():
        return 0
    bad = int((~tensor.detach().isfinite()).sum())
    masks = bad and not bool(((tensor != 0) & (tensor != -math.inf)).any()) and bool((tensor == 0).any())
    return 0 if masks else bad
