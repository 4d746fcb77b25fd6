"""Which models of libraries care about the mode, as the static witness sees it: no such library is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from torch_doctor.scan import Options, traces
from torch_doctor.trace import Forward, Kind, LossCalled, ModuleBuilt

if TYPE_CHECKING:
    from pathlib import Path

    from torch_doctor.trace import Trace, Tri

SCRIPT = """
import argparse
import dgl.nn.pytorch as dglnn
import monai.networks.nets as nets
import pretrainedmodels
import timm
import torch
import torch_geometric.nn as gnn
from torch import nn
from torchvision import models

class Net(nn.Module):
    def __init__(self, *layers):
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x

parser = argparse.ArgumentParser()
parser.add_argument("--arch", default="resnet18")
args = parser.parse_args()
resnet = models.resnet18()
vgg = models.vgg16()
{model}
loss = nn.CrossEntropyLoss()(model(torch.randn(4, 3, 32, 32)), torch.randint(0, 2, (4,)))
"""


def traced(model: str, folder: Path) -> Trace:
    path = folder / "train.py"
    path.write_text(SCRIPT.format(model=model), encoding="utf-8")
    return traces(Options(paths=(path,), rules=()))[0][0]


def cares(model: str, folder: Path) -> Tri:
    """Whether the model cares about the mode."""
    return next(event.sensitive for event in traced(f"model = {model}", folder).of(Forward))


@pytest.mark.parametrize(
    "model",
    [
        "getattr(models, 'resnet18')(pretrained=True)",
        "getattr(models, args.arch)(pretrained=True)",
        "models.__dict__['resnet18']()",
        "models.__dict__[args.arch](pretrained=True)",
        "vars(models)[args.arch]()",
        "models.get_model('resnet18')",
        "pretrainedmodels.__dict__[args.arch]()",
        "timm.create_model('resnet50', pretrained=True)",
        "timm.create_model('tf_efficientnet_b0.ns_jft_in1k')",
        "nets.DenseNet121(spatial_dims=2, in_channels=1, out_channels=4)",
        "nn.Sequential(*list(resnet.children())[:-1])",
        "nn.Sequential(resnet.conv1, resnet.layer1)",
        "Net(gnn.GATConv(8, 8, heads=4, dropout=0.6))",
        "Net(dglnn.GATConv(8, 8, 4, 0.6))",
        "Net(gnn.GCNConv(8, 8), gnn.BatchNorm(8))",
    ],
)
def test_a_model_with_batch_norm_or_dropout_cares(model: str, tmp_path: Path) -> None:
    assert cares(model, tmp_path) is True


@pytest.mark.parametrize(
    "model",
    [
        "nn.Sequential(resnet.conv1, nn.ReLU(), nn.Linear(8, 2))",
        "nn.Sequential(vgg.features, nn.Linear(8, 2))",
        "Net(gnn.GCNConv(8, 8), gnn.GATConv(8, 8, heads=4))",
        "Net(dglnn.GraphConv(8, 8), dglnn.GATConv(8, 8, 4, feat_drop=0.0))",
    ],
)
def test_parts_and_layers_without_either_do_not(model: str, tmp_path: Path) -> None:
    assert cares(model, tmp_path) is False


@pytest.mark.parametrize(
    "model",
    [
        "timm.create_model(args.arch)",
        "timm.create_model('vit_base_patch16_224')",
        "timm.create_model('resnet50_gn')",
        "nets.UNet(2, 1, 4, (8, 16), (2,))",
        "nn.Sequential(*list(vgg.children())[:-1])",
        "Net(gnn.GATConv(8, 8, dropout=args.rate))",
        "Net(gnn.GINConv(nn.Linear(8, 8)))",
    ],
)
def test_of_others_nobody_knows(model: str, tmp_path: Path) -> None:
    assert cares(model, tmp_path) is None


def test_a_layer_of_a_graph_network_gives_raw_scores(tmp_path: Path) -> None:
    (loss,) = traced("model = Net(gnn.GCNConv(8, 2))", tmp_path).of(LossCalled)
    assert loss.input.kind is Kind.LOGITS


def test_a_layer_that_a_model_builds_is_none_of_its_own(tmp_path: Path) -> None:
    source = "class Graph(Net):\n    def __init__(self):\n        super().__init__(gnn.GCNConv(8, 2))\nmodel = Graph()"
    built = [event.class_name for event in traced(source, tmp_path).of(ModuleBuilt)]
    assert built == ["torchvision.models.resnet18", "torchvision.models.vgg16", "Graph"]


def test_where_a_part_is_unfrozen_the_model_may_train(tmp_path: Path) -> None:
    freezing = "for p in resnet.parameters():\n    p.requires_grad = False\nmodel = resnet"
    unfreezing = "for p in resnet.layer4.parameters():\n    p.requires_grad = True"
    frozen, partly = (traced(text, tmp_path) for text in (freezing, f"{freezing}\n{unfreezing}"))
    assert [event.trainable for trace in (frozen, partly) for event in trace.of(Forward)] == [False, None]
