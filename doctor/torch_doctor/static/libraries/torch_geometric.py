"""PyTorch Geometric: networks on graphs, and the packages that it is built on."""

from __future__ import annotations

from torch_doctor.static.libraries.library import Library, Package, members

LIBRARY = Library(
    packages={"torch_geometric.loader": Package()},
    harmless=(
        *members("torch_geometric", "data datasets utils transforms seed_everything loader"),
        "torch_scatter",
        "torch_sparse",
    ),
    loaders=members("torch_geometric.data", "DataLoader DataListLoader NeighborSampler ClusterLoader"),
    loader_suffixes={"torch_geometric.loader.": ("Loader", "Sampler", "DataLoader")},
    loader_parameters=dict.fromkeys(
        (
            *members("torch_geometric.loader", "DataLoader DataListLoader DenseDataLoader"),
            *members("torch_geometric.data", "DataLoader DataListLoader"),
        ),
        ("dataset", "batch_size", "shuffle"),
    ),
    map_style=("torch_geometric.datasets.", *members("torch_geometric.data", "Dataset InMemoryDataset")),
    stored=("torch_geometric.datasets.",),
    wrappers=dict.fromkeys(members("torch_geometric", "nn.DataParallel nn.to_hetero compile"), 0),
)
