"""What tells rows of data sets apart, and where the rows are that a data set reads."""

from __future__ import annotations

import ctypes
import itertools
from typing import Any

MOST_ROWS = 1 << 18  # of a dataset whose rows are compared
MOST_NUMBERS = 4_000_000
FEWEST_NUMBERS = 4  # in a row: shorter rows may well be equal by chance


def row_bytes(tensor: Any) -> list[bytes]:
    """Return the rows of a tensor as bytes. NumPy may be missing, and has no bfloat16."""
    data = tensor.detach().cpu().contiguous()
    width = data[0].numel() * data.element_size()
    whole = ctypes.string_at(data.data_ptr(), width * len(data))
    return [whole[start : start + width] for start in range(0, len(whole), width)]


def row_keys(tensor: Any) -> list[int]:
    """Return a number for each row of a tensor, which equal rows share."""
    return [hash(row) for row in row_bytes(tensor)]


def places(torch: Any, dataset: Any) -> tuple[Any, list[int]]:
    """Return the dataset from which subsets and concatenations take their rows in the end, and the index of each there.

    There are none where nobody knows how many rows it has, or they are too many.
    """
    data = torch.utils.data
    if isinstance(dataset, data.Subset):
        base, inner = places(torch, dataset.dataset)
        return base, [inner[int(each)] for each in dataset.indices[:MOST_ROWS]] if inner else []
    if isinstance(dataset, data.ConcatDataset):
        parts = [places(torch, each) for each in dataset.datasets]
        if len({id(base) for base, _ in parts}) == 1 and all(rows for _, rows in parts):
            return parts[0][0], list(itertools.chain.from_iterable(rows for _, rows in parts))
        return dataset, []
    known = hasattr(dataset, "__len__") and not isinstance(dataset, data.IterableDataset)
    count = len(dataset) if known else 0
    return dataset, list(range(count)) if count <= MOST_ROWS else []


def inputs(torch: Any, dataset: Any) -> Any:
    """Return the first tensor or array of fractions that a dataset holds, with a row for each of its own; None for any other."""
    arrays = (each for each in _arrays(torch, dataset) if "float" in str(each.dtype) and each.ndim > 1)
    found = next(arrays, None)
    return None if found is None else torch.as_tensor(found)


def columns(torch: Any, dataset: Any) -> list[Any]:
    """Return the rows of a dataset's inputs, and what it holds beside them; nothing where it holds no such arrays."""
    base, rows = places(torch, dataset)
    first = inputs(torch, base) if rows else None
    if first is None:
        return []
    held = [torch.as_tensor(each) for each in _arrays(torch, base) if each.dtype != object]
    others = [each for each in held if each.data_ptr() != first.data_ptr()]
    return [each[rows] for each in (first, *others)]


def _arrays(torch: Any, dataset: Any) -> list[Any]:
    """The tensors and arrays that a dataset holds with a row for each of its own."""
    held = dataset.tensors if type(dataset) is torch.utils.data.TensorDataset else vars(dataset).values()
    kinds = [each for each in held if isinstance(each, torch.Tensor) or hasattr(each, "__array_interface__")]
    return [each for each in kinds if each.ndim and len(each) == len(dataset)]
