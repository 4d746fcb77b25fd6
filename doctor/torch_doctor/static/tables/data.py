"""Datasets, their order, and what puts rows in another one.

Source: https://docs.pytorch.org/docs/stable/data.html. All names are canonical (`canonical.canonical`).
"""

from __future__ import annotations

import functools

from torch_doctor.static import libraries
from torch_doctor.static.tables import words
from torch_doctor.static.tables.reading import DATA_LOADER

LOADER_PARAMETERS = {
    "torch.utils.data.DataLoader": DATA_LOADER,
    **libraries.table(lambda library: library.loader_parameters),
}
"""The positional parameters of loaders that take, and mean, what `DataLoader` does: without `shuffle` the stored order."""

DISTRIBUTED_SAMPLERS = frozenset(
    {
        "torch.utils.data.DistributedSampler",
        "torch.utils.data.distributed.DistributedSampler",
        "torch.utils.data.sampler.DistributedSampler",
    }
)
"""Samplers that shuffle by a seed and their epoch, which somebody has to tell them."""

SUBSETS = frozenset({"torch.utils.data.Subset"})
INDEXED = frozenset({"torch.utils.data.SubsetRandomSampler", "torch.utils.data.sampler.SubsetRandomSampler"})
"""Samplers that draw the samples at the indices that they are given."""
COMPLETE = frozenset(
    f"torch.utils.data.{module}{name}" for module in ("", "sampler.") for name in ("RandomSampler", "SequentialSampler")
)
"""Samplers that draw each sample once, where they are given nothing but the dataset."""
CONCATENATIONS = frozenset({"torch.utils.data.ConcatDataset", "torch.utils.data.StackDataset"})
SPLITS = frozenset({"torch.utils.data.random_split"})

ITERABLE = frozenset(
    {
        "torch.utils.data.IterableDataset",
        "torch.utils.data.ChainDataset",
        "torch.utils.data.IterDataPipe",
        "torch.utils.data.datapipes.datapipe.IterDataPipe",
        *libraries.every(lambda library: library.iterable),
    }
)
"""Datasets that give their rows in an order of their own: a loader cannot shuffle them."""

_MAP_STYLE = (
    "torch.utils.data.TensorDataset",
    "torch.utils.data.Subset",
    "torch.utils.data.ConcatDataset",
    "torch.utils.data.StackDataset",
    "torch.utils.data.Dataset",
    *libraries.every(lambda library: library.map_style),
)


@functools.lru_cache(maxsize=4096)
def iterable(name: str) -> bool | None:
    """Whether a library's dataset gives its rows in its own order; None where the tables do not know it."""
    if name in ITERABLE:
        return True
    return False if name.startswith(_MAP_STYLE) and name.rpartition(".")[2][:1].isupper() else None


STORED = libraries.every(lambda library: library.stored)
"""Where datasets come from whose rows nobody has put in another order before they are there."""

PREPARING = frozenset(
    words("transform target_transform transforms pre_transform pre_filter download loader force_reload cache_dir")
)
"""Parameters of datasets that say how rows are prepared, not which ones they are."""

REORDERING = frozenset(
    (
        *words("random.shuffle random.sample random.choices torch.randperm torch.utils.data.random_split"),
        *libraries.every(lambda library: library.reordering),
    )
)
"""Functions that put something in random order, or draw from it."""

REORDERING_METHODS = frozenset(("shuffle", "sample", "permutation", "train_test_split", "choice", "shuffle_data"))
"""Methods of what is not known that do the same."""

NEXT_METHODS = ("__next__", "next")
"""The method that gives an iterator's next item, and its name before Python 3."""


_DRAWING = (
    *words("random. torch.rand torch.normal torch.bernoulli"),
    *libraries.every(lambda library: library.drawing),
)
_NO_DRAW = ("random.seed", "random.Random", *libraries.every(lambda library: library.no_drawing))


BETWEEN = frozenset(("uniform", "randint", "triangular"))
"""Functions that draw between two bounds."""

AROUND = frozenset(("gauss", "normal", "normalvariate"))
"""Functions that draw around a number, as far as the second argument says."""

_CHANCES = frozenset(("random", "random_sample", "rand", "uniform"))


@functools.lru_cache(maxsize=4096)
def draws(name: str) -> bool:
    """Whether calling this function of a library draws random numbers."""
    return name in REORDERING or (name.startswith(_DRAWING) and not name.startswith(_NO_DRAW))


@functools.lru_cache(maxsize=4096)
def chances(name: str) -> bool:
    """Whether this function draws a number between 0 and 1, unless its arguments ask for something else."""
    return draws(name) and not name.startswith("torch.") and name.rpartition(".")[2] in _CHANCES
