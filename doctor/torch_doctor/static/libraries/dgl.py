"""DGL: networks on graphs."""

from __future__ import annotations

from torch_doctor.static.libraries.library import Library, LibraryModel, members
from torch_doctor.static.tables import words

# https://www.dgl.ai/dgl_docs/api/python/nn-pytorch.html: layers that are given sizes; an `activation` decides what they give.
_LAYERS: dict[str, tuple[tuple[str, int], ...]] = {
    **dict.fromkeys(words("GraphConv TAGConv ChebConv RelGraphConv DenseGraphConv DenseSAGEConv EGATConv"), ()),
    **dict.fromkeys(words("GATConv GATv2Conv"), (("feat_drop", 3), ("attn_drop", 4))),
    "SAGEConv": (("feat_drop", 3),),
}


def _built(rest: str) -> LibraryModel | None:
    owner, _, name = rest.rpartition(".")
    rates = _LAYERS.get(name) if owner.partition(".")[0] == "nn" else None
    return None if rates is None else LibraryModel(sensitive=False, training=True, rates=rates, layer=True)


LIBRARY = Library(
    trees=(("dgl.nn.pytorch.", "dgl.nn."),),
    builders={"dgl": _built},
    loaders=(
        *members("dgl.dataloading", "DataLoader GraphDataLoader NodeDataLoader EdgeDataLoader"),
        *members("dgl.dataloading.pytorch", "NodeDataLoader EdgeDataLoader GraphDataLoader"),
    ),
    loader_parameters=dict.fromkeys(
        members("dgl.dataloading", "GraphDataLoader pytorch.GraphDataLoader"), ("dataset", "collate_fn")
    ),
    map_style=("dgl.data.",),
    stored=("dgl.data.",),
)
