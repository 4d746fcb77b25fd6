"""Datasets of graphs of torch_geometric whose files are not there: random graphs of the right sizes, kinds and classes."""

from __future__ import annotations

import functools
import importlib
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from ..imports import after
from . import told
from .stand_in import StandIn

if TYPE_CHECKING:
    from types import ModuleType

NODES, GRAPHS = 1_000, 128  # of a graph whose nodes have classes, and graphs where these have them
TRAINED, CHECKED = 20, 200  # nodes of a class that are learnt, and those that are evaluated
SMALLEST, LARGEST, POINTS = 8, 24, 256  # nodes of a small graph, and points of a cloud
ATOMS, BONDS = 2, 2  # kinds of each, that are indices of any table


class Nodes(NamedTuple):
    """One graph whose nodes are told apart."""

    features: int = 128
    classes: int = 5


class Graphs(NamedTuple):
    """Many graphs: whole numbers are kinds; `targets` of a graph, or `classes`."""

    features: int = 0
    classes: int = 0
    targets: int = 0
    edges: int = 0
    whole: bool = False
    places: int = 0
    of_nodes: bool = False


TABLE: dict[str, dict[str, Nodes | Graphs]] = {
    "Planetoid": {"cora": Nodes(1433, 7), "citeseer": Nodes(3703, 6), "pubmed": Nodes(500, 3)},
    "Amazon": {"computers": Nodes(767, 10), "photo": Nodes(745, 8)},
    "Coauthor": {"cs": Nodes(6805, 15), "physics": Nodes(8415, 5)},
    "CitationFull": {"": Nodes(1639, 4)},
    "Reddit": {"": Nodes(602, 41)},
    "Reddit2": {"": Nodes(602, 41)},
    "Flickr": {"": Nodes(500, 7)},
    "WebKB": {"": Nodes(1703, 5)},
    "Actor": {"": Nodes(932, 5)},
    "WikipediaNetwork": {"": Nodes(2325, 5)},
    "TUDataset": {
        "mutag": Graphs(7, 2, edges=4),
        "enzymes": Graphs(3, 6),
        "proteins": Graphs(3, 2),
        "nci1": Graphs(37, 2),
        "nci109": Graphs(38, 2),
        "dd": Graphs(89, 2),
        "collab": Graphs(0, 3),
        "imdb-multi": Graphs(0, 3),
        "": Graphs(0, 2),
    },
    "ZINC": {"": Graphs(1, targets=1, edges=1, whole=True)},
    "QM9": {"": Graphs(11, targets=19, edges=4, places=3)},
    "MoleculeNet": {
        "tox21": Graphs(9, targets=12, edges=3, whole=True),
        "toxcast": Graphs(9, targets=617, edges=3, whole=True),
        "sider": Graphs(9, targets=27, edges=3, whole=True),
        "clintox": Graphs(9, targets=2, edges=3, whole=True),
        "": Graphs(9, targets=1, edges=3, whole=True),
    },
    "PPI": {"": Graphs(50, targets=121, of_nodes=True)},
    "ModelNet": {
        "10": Graphs(classes=10, places=3),
        "40": Graphs(classes=40, places=3),
        "": Graphs(classes=10, places=3),
    },
    "MNISTSuperpixels": {"": Graphs(1, 10, places=2)},
    "ShapeNet": {"": Graphs(3, 50, places=3, of_nodes=True)},
}
"""What is known of each data set, by the name that picks a part of it; the empty one is any other."""


class GraphDatasets(StandIn):
    """Fills datasets of torch_geometric whose files can neither be found nor downloaded."""

    replaces = "data not found"
    voids = (told.VALUES, told.SHAPES)

    def prepare(self) -> None:
        """Patches the datasets when they are imported."""
        after("torch_geometric.datasets", self._patch)

    def _patch(self, _: ModuleType) -> None:
        data: Any = importlib.import_module("torch_geometric.data")
        download, process = data.Dataset._download, data.Dataset._process
        missing: set[int] = set()

        @functools.wraps(download)
        def downloading(dataset: Any) -> Any:
            try:
                return download(dataset)
            except Exception:
                if _known(dataset) is None:
                    raise
                missing.add(id(dataset))

        @functools.wraps(process)
        def processing(dataset: Any) -> Any:
            if id(dataset) not in missing:
                return process(dataset)
            missing.discard(id(dataset))
            return self._write(dataset, data)

        data.Dataset._download, data.Dataset._process = downloading, processing

    def _write(self, dataset: Any, module: Any) -> None:
        """Writes what processing would have made of the files, where the data set reads it."""
        torch: Any = importlib.import_module("torch")
        os.makedirs(dataset.processed_dir, exist_ok=True)
        for path in dataset.processed_paths:
            made, slices = dataset.collate(self._made(dataset, module.Data, len(path)))
            kinds = {"num_node_attributes": 0, "num_node_labels": made.num_node_features, "num_edge_attributes": 0}
            kinds["num_edge_labels"] = made.num_edge_features
            sizes = [kinds] if hasattr(type(dataset), "num_node_labels") else []
            torch.save((made.to_dict(), slices, *sizes, type(made)), path)

    def _made(self, dataset: Any, data: Any, seed: int) -> list[Any]:
        torch: Any = importlib.import_module("torch")
        kind, draw = _known(dataset), torch.Generator().manual_seed(seed)
        found: list[Any]
        if isinstance(kind, Nodes):
            found = [_with_classes(torch, data, kind, draw)]
            how = f"a random graph of {NODES} nodes, {kind.features} features, {kind.classes} classes"
        else:
            found = [_small(torch, data, kind or Graphs(), number, draw) for number in range(GRAPHS)]
            how = f"{GRAPHS} random graphs"
        self.tell(f"torch_geometric.datasets.{type(dataset).__name__}", how)
        if dataset.pre_filter is not None:
            found = [each for each in found if dataset.pre_filter(each)] or found
        return found if dataset.pre_transform is None else [dataset.pre_transform(each) for each in found]


def _known(dataset: Any) -> Nodes | Graphs | None:
    """What is known of a data set, or of the library's that it is one of."""
    for kind in type(dataset).__mro__:
        if kind.__name__ in TABLE and kind.__module__.startswith("torch_geometric."):
            parts = TABLE[kind.__name__]
            name = str(getattr(dataset, "name", "")).lower()
            return parts.get(name) or parts.get("") or next(iter(parts.values()))
    return None


def _edges(torch: Any, nodes: int, draw: Any) -> Any:
    """A circle, and as many edges beside it, in both directions."""
    first = torch.arange(nodes)
    pairs = torch.stack(
        [first.repeat(2), torch.cat([(first + 1) % nodes, torch.randint(nodes, (nodes,), generator=draw)])]
    )
    pairs = pairs[:, pairs[0] != pairs[1]]
    return torch.cat([pairs, pairs.flip(0)], dim=1).unique(dim=1)


def _with_classes(torch: Any, data: Any, kind: Nodes, draw: Any) -> Any:
    """A graph whose nodes have classes, some of which are to be learnt."""
    made = data(
        x=torch.rand(NODES, kind.features, generator=draw),
        edge_index=_edges(torch, NODES, draw),
        y=torch.arange(NODES) % kind.classes,
    )
    begin = min(TRAINED * kind.classes, NODES - 2 * CHECKED)
    for name, first, last in (
        ("train_mask", 0, begin),
        ("val_mask", begin, begin + CHECKED),
        ("test_mask", begin + CHECKED, begin + 2 * CHECKED),
    ):
        mask = torch.zeros(NODES, dtype=torch.bool)
        mask[first:last] = True
        made[name] = mask
    return made


def _small(torch: Any, data: Any, kind: Graphs, number: int, draw: Any) -> Any:
    """One of many graphs, or of many clouds of points."""
    cloud = bool(kind.places) and not kind.edges
    nodes = POINTS if cloud else SMALLEST + number % (LARGEST - SMALLEST)
    made = data(edge_index=None if cloud else _edges(torch, nodes, draw))
    if kind.features:
        random = torch.randint(ATOMS, (nodes, kind.features), generator=draw)
        made.x = random if kind.whole else torch.rand(nodes, kind.features, generator=draw)
    if kind.edges:
        shape = (made.edge_index.shape[1], *([kind.edges] if kind.edges > 1 else []))
        random = torch.randint(BONDS, shape, generator=draw)
        made.edge_attr = random if kind.whole else torch.rand(*shape, generator=draw)
    if kind.places:
        made.pos = torch.randn(nodes, kind.places, generator=draw)
        made.z = torch.randint(1, 9, (nodes,), generator=draw) if kind.edges else None
    rows = nodes if kind.of_nodes else 1
    if kind.targets:
        targets = torch.rand(rows, kind.targets, generator=draw)
        made.y = targets[0] if kind.targets == 1 and kind.edges == 1 else targets
    else:
        made.y = (torch.arange(rows) + number) % kind.classes
    made.num_nodes = nodes
    return made
