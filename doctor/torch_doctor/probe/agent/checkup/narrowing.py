"""A batch with fewer samples, for who wants to see whether a handful of them can be memorized."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .batches import changed, is_dense, leaves, rows
from .stage import Skip

if TYPE_CHECKING:
    from .stage import Stage


def narrowed(stage: Stage, examples: int) -> Any:
    """The batch that was caught with its first samples alone.

    Only a tuple or a list of tensors that all have a row for each sample is known to mean the same with fewer of them.

    Raises:
        Skip: nobody can tell what a sample of the batch is, or it has fewer.
    """
    batch = stage.batch
    if batch is None:
        raise Skip(_not("no data loader gives it"))
    parts = batch if type(batch) in {tuple, list} else [batch]
    if not all(hasattr(each, "untyped_storage") and each.dim() and is_dense(each) for each in parts):
        raise Skip(_not(f"it is a {type(batch).__name__} and no list of plain tensors"))
    count = rows(batch)
    size = getattr(stage.loader, "batch_size", None)
    if any(each.shape[0] != count for _, each in leaves(batch)) or count not in {size, _of_data(stage)}:
        raise Skip(_not("the first dimension of its tensors is not the number of samples"))
    if count < examples:
        raise Skip(f"`--examples {examples}` is more than the {count} samples of a batch")
    return changed(batch, lambda _, each: each[:examples])


def _not(why: str) -> str:
    return f"the batch cannot be narrowed as `--examples` asks: {why}"


def _of_data(stage: Stage) -> int | None:
    """How many samples the data set has: its only batch may have fewer than a batch would."""
    dataset: Any = getattr(stage.loader, "dataset", None)
    try:
        return len(dataset)
    except (TypeError, NotImplementedError):
        return None
