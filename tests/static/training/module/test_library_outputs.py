"""What models of libraries give, as the static witness sees it: no such library is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from torch_doctor.scan import Options, traces
from torch_doctor.trace import Kind, LossCalled

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = """
import segmentation_models_pytorch as smp
import torch
from torch import nn
from torchvision import models

{model}
loss = nn.CrossEntropyLoss()(model(torch.randn(4, 3, 32, 32)), torch.randint(0, 2, (4,)))
"""


def given(model: str, folder: Path) -> Kind:
    """The kind of what the loss gets of the model."""
    path = folder / "train.py"
    path.write_text(SCRIPT.format(model=model), encoding="utf-8")
    found, _ = traces(Options(paths=(path,), rules=()))
    return next(loss.input.kind for trace in found for loss in trace.of(LossCalled))


@pytest.mark.parametrize("builder", ["resnet18()", "vgg16(pretrained=True)", "densenet121()", "mobilenet_v2()"])
def test_a_classifier_gives_raw_scores(builder: str, tmp_path: Path) -> None:
    assert given(f"model = models.{builder}", tmp_path) is Kind.LOGITS


@pytest.mark.parametrize(
    "head",
    [
        "model = models.resnet18()\nmodel.fc = nn.Sequential(nn.Linear(512, 2), nn.Softmax(dim=1))",
        "model = models.densenet121()\nmodel.classifier = nn.Sequential(nn.Linear(9, 2), nn.Softmax(dim=1))",
        "model = models.vgg16()\nmodel.classifier[6] = nn.Sequential(nn.Linear(9, 2), nn.Softmax(dim=1))",
        "model = models.vgg16()\nmodel.classifier[-1] = nn.Sequential(nn.Linear(9, 2), nn.Softmax(dim=1))",
    ],
)
def test_a_head_of_the_projects_says_what_comes_out(head: str, tmp_path: Path) -> None:
    assert given(head, tmp_path) is Kind.PROBABILITIES


@pytest.mark.parametrize(
    "change",
    [
        'model.classifier._modules["6"] = nn.Softmax(dim=1)',
        'model.classifier.add_module("7", nn.Softmax(dim=1))',
        "model.classifier[6].out_features = 2",
        "model.classifier = nn.Sequential(*list(model.classifier)[:-1])",
    ],
)
def test_a_head_that_may_have_been_changed_says_nothing(change: str, tmp_path: Path) -> None:
    assert given(f"model = models.vgg16()\n{change}", tmp_path) is Kind.UNKNOWN


@pytest.mark.parametrize("builder", ["inception_v3()", "detection.fasterrcnn_resnet50_fpn()", "squeezenet1_0()"])
def test_what_ends_otherwise_says_nothing(builder: str, tmp_path: Path) -> None:
    assert given(f"model = models.{builder}", tmp_path) is Kind.UNKNOWN


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ("", Kind.LOGITS),
        ('activation="sigmoid"', Kind.BOUNDED),
        ('activation="softmax2d"', Kind.PROBABILITIES),
        ("activation=chosen", Kind.UNKNOWN),
        ('activation="sigmoid", aux_params={"classes": 2}', Kind.UNKNOWN),
    ],
)
def test_a_segmentation_model_ends_in_its_activation(arguments: str, kind: Kind, tmp_path: Path) -> None:
    assert given(f'model = smp.Unet("resnet34", {arguments})', tmp_path) is kind
