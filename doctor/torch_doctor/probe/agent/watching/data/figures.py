"""What is told of a data loader when it is built: how many rows, batches and workers it has, and which rows it draws."""

from __future__ import annotations

import inspect
import itertools
import os
from contextlib import suppress
from typing import Any

MOST = 1_000_000
"""Indices of a sampler that are compared with those of another one."""
DEVICES = frozenset({"to", "cuda", "device"})
"""Names in code that moves tensors, or makes them on a device."""


def full(loader: Any) -> bool:
    """Whether one batch holds the whole dataset."""
    size = getattr(loader, "batch_size", None)
    with suppress(TypeError, NotImplementedError, AttributeError):
        return isinstance(size, int) and size >= len(loader.dataset)
    return False


def batch(loader: Any) -> int | None:
    """How many rows a batch has; 0 where the dataset makes batches itself."""
    size = getattr(loader, "batch_size", None)
    if size is None and getattr(loader, "batch_sampler", None) is None:
        return 0
    return size if isinstance(size, int) else None


def length_of(of: str, loader: Any, data: Any) -> int | None:
    """How long a part of a loader is, or it itself; not asked where data only comes as a stream, whose length is a promise."""
    with suppress(Exception):  # whose `__len__` is the user's
        if not isinstance(loader.dataset, data.IterableDataset):
            return len(getattr(loader, of) if of else loader)
    return None


def of(loader: Any, data: Any) -> int | None:
    """How many rows the dataset has, or that of which it is a subset."""
    inner = getattr(loader, "dataset", None)
    return length_of("dataset", inner if isinstance(inner, data.Subset) else loader, data)


def asked(given: dict[str, Any], name: str, real: int) -> int:
    """What the script asked for: where this process loads the data itself, the loader has no workers."""
    asked = given.get(name, real)
    return asked if type(asked) is int else real


def cores() -> int:
    """How many cores this process may use, as `DataLoader` counts them."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def speaks_of_devices(*makers: Any) -> bool:
    """Whether the code that makes batches names what moves tensors to a device."""
    for maker in makers:
        owned = [each for cls in type(maker).__mro__ for each in vars(cls).values()]
        for each in (maker, *owned):
            code = getattr(inspect.unwrap(each) if callable(each) else each, "__code__", None)
            named = [] if code is None else [const for const in code.co_consts if isinstance(const, tuple)]
            if code is not None and not DEVICES.isdisjoint((*code.co_names, *itertools.chain(*named))):
                return True
    return False


def draws_all(loader: Any, sampler: Any, data: Any) -> bool:
    """Whether a sampler draws each row of the dataset once."""
    length = length_of("dataset", loader, data)
    if isinstance(sampler, data.SubsetRandomSampler):
        return length is not None and indices_of(sampler, data) == frozenset(range(length))
    if not isinstance(sampler, (data.RandomSampler, data.SequentialSampler)):
        return False
    drawn = getattr(sampler, "num_samples", length)  # only a random sampler can draw another number of them
    return sampler.data_source is loader.dataset and drawn == length and not getattr(sampler, "replacement", False)


def indices_of(sampler: Any, data: Any) -> frozenset[int]:
    """The indices that a sampler was given; none where they are very many, or no numbers."""
    if not isinstance(sampler, data.SubsetRandomSampler) or len(sampler.indices) > MOST:
        return frozenset()
    with suppress(Exception):  # whose numbers may be the user's
        return frozenset(map(int, sampler.indices))
    return frozenset()
