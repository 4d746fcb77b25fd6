"""Datasets of graphs that cannot be downloaded."""

# ruff: noqa: SLF001 - private names of the library and of what is tested

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch

from torch_doctor.probe.agent.stand_ins.graph_sets import TABLE, GraphDatasets, Graphs, Nodes, _small, _with_classes


class Data(SimpleNamespace):
    """A graph."""

    def __setitem__(self, name: str, value: Any) -> None:
        setattr(self, name, value)


@pytest.mark.parametrize("kind", [kind for parts in TABLE.values() for kind in parts.values()])
def test_what_a_graph_has_agrees(kind: Nodes | Graphs) -> None:
    draw = torch.Generator().manual_seed(0)
    if isinstance(kind, Nodes):
        made: Any = _with_classes(torch, Data, kind, draw)
        assert made.x.shape == (len(made.y), kind.features)
        assert set(made.y[made.train_mask].tolist()) == set(range(kind.classes))
        assert not (made.train_mask & made.test_mask | made.val_mask & made.test_mask).any()
        assert made.edge_index.max() < len(made.y)
        return
    made = _small(torch, Data, kind, 3, draw)
    assert kind.targets or made.y.max() < kind.classes
    assert len(made.y) == made.num_nodes if kind.of_nodes else made.y.shape[0] == 1
    assert made.edge_index is None or made.edge_index.max() < made.num_nodes
    assert not kind.edges or len(made.edge_attr) == made.edge_index.shape[1]


def test_only_what_cannot_be_downloaded_is_made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    class Dataset:
        def _download(self) -> None:
            raise OSError

        def _process(self) -> None:
            raise FileNotFoundError

    library: Any = ModuleType("torch_geometric.data")
    library.Dataset = Dataset
    monkeypatch.setitem(sys.modules, "torch_geometric.data", library)
    setting: Any = SimpleNamespace
    written: list[Any] = []
    stand_in = GraphDatasets.__new__(GraphDatasets)
    monkeypatch.setattr(GraphDatasets, "_write", lambda _, dataset, __: written.append(dataset))
    stand_in._patch(setting)
    known: Any = type("Planetoid", (Dataset,), {"__module__": "torch_geometric.datasets.planetoid"})()
    known._download()
    known._process()
    assert written == [known]
    own: Any = type("Planetoid", (Dataset,), {})()
    with pytest.raises(OSError):  # noqa: PT011 - as it is raised
        own._download()
