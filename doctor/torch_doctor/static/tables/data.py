"""Datasets, their order, and what puts rows in another one.

Sources: https://docs.pytorch.org/docs/stable/data.html, https://docs.pytorch.org/vision/stable/datasets.html and the
documentation of each package named. All names are canonical (`canonical.canonical`).
"""

from __future__ import annotations

import functools

from torch_doctor.static.tables import words

LOADER_PARAMETERS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(
        (
            "torch.utils.data.DataLoader",
            "torchdata.stateful_dataloader.StatefulDataLoader",
            "accelerate.data_loader.DataLoaderShard",
        ),
        words(
            """
            dataset batch_size shuffle sampler batch_sampler num_workers collate_fn pin_memory drop_last timeout
            worker_init_fn
            """
        ),
    ),
    **dict.fromkeys(
        ("torch_geometric.loader.DataLoader", "torch_geometric.data.DataLoader", "torch_geometric.data.DataListLoader"),
        ("dataset", "batch_size", "shuffle"),
    ),
    "torch_geometric.loader.DataListLoader": ("dataset", "batch_size", "shuffle"),
    "torch_geometric.loader.DenseDataLoader": ("dataset", "batch_size", "shuffle"),
    "monai.data.DataLoader": ("dataset", "num_workers"),
    "monai.data.ThreadDataLoader": ("dataset",),
    "torchio.SubjectsLoader": ("dataset",),
    "dgl.dataloading.GraphDataLoader": ("dataset", "collate_fn"),
    "dgl.dataloading.pytorch.GraphDataLoader": ("dataset", "collate_fn"),
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
CONCATENATIONS = frozenset({"torch.utils.data.ConcatDataset", "torch.utils.data.StackDataset"})
SPLITS = frozenset({"torch.utils.data.random_split"})

ITERABLE = frozenset(
    {
        "torch.utils.data.IterableDataset",
        "torch.utils.data.ChainDataset",
        "torch.utils.data.IterDataPipe",
        "torch.utils.data.datapipes.datapipe.IterDataPipe",
        "webdataset.WebDataset",
        "litdata.StreamingDataset",
        "streaming.StreamingDataset",
    }
)
"""Datasets that give their rows in an order of their own: a loader cannot shuffle them."""

_MAP_STYLE = (
    "torch.utils.data.TensorDataset",
    "torch.utils.data.Subset",
    "torch.utils.data.ConcatDataset",
    "torch.utils.data.StackDataset",
    "torch.utils.data.Dataset",
    "torchvision.datasets.",
    "torchaudio.datasets.",
    "torch_geometric.datasets.",
    "torch_geometric.data.Dataset",
    "torch_geometric.data.InMemoryDataset",
    "dgl.data.",
    "monai.data.Dataset",
    "monai.data.CacheDataset",
    "torchio.SubjectsDataset",
    "medmnist.",
)


@functools.lru_cache(maxsize=4096)
def iterable(name: str) -> bool | None:
    """Whether a library's dataset gives its rows in its own order; None where the tables do not know it."""
    if name in ITERABLE:
        return True
    return False if name.startswith(_MAP_STYLE) and name.rpartition(".")[2][:1].isupper() else None


STORED = ("torchvision.datasets.", "torchaudio.datasets.", "torch_geometric.datasets.", "dgl.data.", "medmnist.")
"""Where datasets come from whose rows nobody has put in another order before they are there."""

PREPARING = frozenset(
    words("transform target_transform transforms pre_transform pre_filter download loader force_reload cache_dir")
)
"""Parameters of datasets that say how rows are prepared, not which ones they are."""

REORDERING = frozenset(
    words(
        """
        random.shuffle random.sample numpy.random.shuffle numpy.random.permutation numpy.random.choice torch.randperm
        sklearn.utils.shuffle sklearn.utils.resample sklearn.model_selection.train_test_split
        torch.utils.data.random_split
        sklearn.model_selection.ShuffleSplit sklearn.model_selection.StratifiedShuffleSplit
        """
    )
)
"""Functions that put something in random order, or draw from it."""

REORDERING_METHODS = frozenset(("shuffle", "sample", "permutation", "train_test_split", "choice", "shuffle_data"))
"""Methods of what is not known that do the same."""


_DRAWING = ("numpy.random.", "random.", "sklearn.datasets.make_", "torch.rand", "torch.normal", "torch.bernoulli")
_NO_DRAW = ("numpy.random.seed", "numpy.random.default_rng", "numpy.random.RandomState", "random.seed", "random.Random")


@functools.lru_cache(maxsize=4096)
def draws(name: str) -> bool:
    """Whether calling this function of a library draws random numbers."""
    return name in REORDERING or (name.startswith(_DRAWING) and not name.startswith(_NO_DRAW))
