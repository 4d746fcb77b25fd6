"""PyTorch Geometric: networks on graphs, and the packages that it is built on."""

from __future__ import annotations

from msgspec.structs import replace

from torch_doctor.static.libraries.library import SENSITIVE, Library, LibraryModel, Package, members
from torch_doctor.static.tables import words
from torch_doctor.trace.words import Kind

# https://pytorch-geometric.readthedocs.io/en/latest/modules/nn.html: layers that are given sizes, and no modules.
_LINEAR = words(
    """
    GCNConv ChebConv SAGEConv GraphConv GatedGraphConv TAGConv ARMAConv SGConv SSGConv MFConv RGCNConv FastRGCNConv
    ClusterGCNConv GENConv LEConv GCN2Conv FiLMConv EGConv Linear
    """
)
_ATTENTION = words("GATConv GATv2Conv TransformerConv SuperGATConv")
_CONVOLUTION = LibraryModel(sensitive=False, training=True, kind=Kind.LOGITS, layer=True)


def _built(rest: str) -> LibraryModel | None:
    owner, _, name = rest.rpartition(".")
    if owner.partition(".")[0] != "nn":
        return None
    if name in _LINEAR:
        return _CONVOLUTION
    if name in _ATTENTION:
        return replace(_CONVOLUTION, rates=(("dropout", 5),))
    return replace(SENSITIVE, layer=True) if name == "BatchNorm" else None


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
    builders={"torch_geometric": _built},
    wrappers=dict.fromkeys(members("torch_geometric", "nn.DataParallel nn.to_hetero compile"), 0),
)
