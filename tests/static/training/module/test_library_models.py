"""Which models of libraries care about the mode, as the static witness sees it: no such library is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from torch_doctor.scan import Options, traces
from torch_doctor.trace import Forward, Kind, Loaded, LossCalled, ModuleBuilt, OptimizerBuilt

if TYPE_CHECKING:
    from pathlib import Path

    from torch_doctor.trace import Trace, Tri

SCRIPT = """
import argparse
import dgl.nn.pytorch as dglnn
import monai.networks.nets as nets
import pretrainedmodels
import segmentation_models_pytorch as smp
import timm
import torch
import torch_geometric.nn as gnn
from torch import nn
from torchvision import models
from transformers import AutoModel, BertForSequenceClassification

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


@pytest.mark.parametrize(
    "model",
    [
        "models.resnet18(True)",
        "models.resnet18(pretrained=True)",
        "models.resnet18(weights='DEFAULT')",
        "models.resnet18(weights=models.ResNet18_Weights.DEFAULT)",
        "models.get_model('resnet18', weights='DEFAULT')",
        "getattr(models, args.arch)(pretrained=True)",
        "timm.create_model('resnet50', True)",
        "timm.models.resnet50(pretrained=True)",
        "AutoModel.from_pretrained('bert-base-uncased')",
    ],
)
def test_a_model_that_a_library_builds_with_trained_weights_is_loaded(model: str, tmp_path: Path) -> None:
    assert [event.pretrained for event in traced(f"model = {model}", tmp_path).of(Loaded)] == [True]


@pytest.mark.parametrize(
    "model",
    [
        "models.resnet18()",
        "models.resnet18(pretrained=False)",
        "models.resnet18(weights=None)",
        "models.resnet18(weights=unknown)",
        "models.resnet18(**unknown)",
        "models.get_model('resnet18')",
        "timm.create_model('resnet50')",
        "AutoModel.from_config(unknown)",
        "smp.Unet('resnet34', encoder_weights='imagenet')",
    ],
)
def test_a_model_that_may_be_built_without_them_is_not(model: str, tmp_path: Path) -> None:
    assert not traced(f"model = {model}", tmp_path).of(Loaded)


@pytest.mark.parametrize(
    ("part", "known"),
    [
        ("bert.encoder", True),
        ("bert.embeddings", True),
        ("bert.encoder.layer[0]", None),
        ("bert.pooler", False),
        ("classifier", None),
    ],
)
def test_a_part_of_a_transformer_cares_where_the_whole_does(part: str, known: Tri, tmp_path: Path) -> None:
    model = f"model = BertForSequenceClassification.from_pretrained('bert').{part}"
    assert next(event.sensitive for event in traced(model, tmp_path).of(Forward)) is known


@pytest.mark.parametrize(
    ("model", "part"),
    [
        ("BertForSequenceClassification.from_pretrained('bert')", "bert"),
        ("BertForSequenceClassification.from_pretrained('bert')", "bert.encoder.layer[0]"),
        ("smp.Unet('resnet34')", "encoder"),
        ("timm.create_model('resnet50')", "get_classifier()"),
    ],
)
def test_parts_that_are_frozen_and_the_rest_are_told_apart(model: str, part: str, tmp_path: Path) -> None:
    freezing = f"for p in model.{part}.parameters():\n    p.requires_grad = False"
    optimizer = f"optimizer = torch.optim.SGD(model.{part}.parameters(), lr=0.1)"
    trace = traced(f"model = {model}\n{freezing}\n{optimizer}", tmp_path)
    assert next(event.trainable for event in trace.of(Forward)) is True
    assert [event.whole for event in trace.of(OptimizerBuilt)] == [True]


@pytest.mark.parametrize(
    ("model", "head"),
    [
        ("timm.create_model('resnet50')", "fc"),
        ("timm.create_model('vit_base_patch16_224')", "head"),
        ("timm.create_model('efficientnet_b0')", "classifier"),
        ("smp.Unet('resnet34')", "segmentation_head"),
    ],
)
def test_a_new_last_layer_decides_what_a_model_gives(model: str, head: str, tmp_path: Path) -> None:
    (loss,) = traced(f"model = {model}\nmodel.{head} = nn.Softmax(dim=1)", tmp_path).of(LossCalled)
    assert loss.input.kind is Kind.PROBABILITIES


@pytest.mark.parametrize("settings", ["num_classes=0", "features_only=True", "**unknown"])
def test_a_model_that_gives_features_gives_no_scores(settings: str, tmp_path: Path) -> None:
    (loss,) = traced(f"model = timm.create_model('resnet50', {settings})", tmp_path).of(LossCalled)
    assert loss.input.kind is Kind.UNKNOWN


def test_a_classifier_that_is_reset_has_other_parameters(tmp_path: Path) -> None:
    source = (
        "model = timm.create_model('resnet50')\nbefore = torch.optim.SGD(model.parameters())\nmodel.reset_classifier(2)"
    )
    trace = traced(f"{source}\nafter = torch.optim.SGD(model.parameters())", tmp_path)
    before, after = (event.modules for event in trace.of(OptimizerBuilt))
    assert len(after - before) == 1
