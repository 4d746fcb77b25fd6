"""DGL: networks on graphs."""

from __future__ import annotations

from torch_doctor.static.libraries.library import Library, members

LIBRARY = Library(
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
