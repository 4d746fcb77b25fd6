"""The very last of many items is known, however many come before it: models end with their last layer."""

import pytest

from tests.said import said

SCRIPT = """
import argparse
import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--depth", type=int, default=3)
depth = parser.parse_args().depth
layers = [nn.Linear(8, 8) for _ in range(depth)]
{model}
loss = nn.CrossEntropyLoss()(model(torch.randn(4, 8)), torch.randint(0, 2, (4,)))
"""


def shape(model: str) -> str:
    (loss,) = said(SCRIPT.format(model=model), "loss `")
    return loss.partition("float32[")[2].partition("]")[0]


@pytest.mark.parametrize(
    "model",
    [
        "model = (layers + [nn.Linear(8, 2)])[-1]",
        "layers.append(nn.Linear(8, 2))\nmodel = layers[-1]",
        "layers += [nn.Linear(8, 2)]\nmodel = nn.ModuleList(layers)[-1]",
        "layers.extend([nn.ReLU(), nn.Linear(8, 2)])\nmodel = nn.Sequential(*layers)",
        "model = nn.Sequential(*layers, nn.Linear(8, 2))",
        "model = nn.Sequential(*layers)\nmodel.append(nn.Linear(8, 2))",
        "model = nn.Sequential(*([nn.Linear(8, 8)] + layers + [nn.Linear(8, 2)]))",
        "for _ in range(depth):\n    layers.append(nn.Linear(8, 8))\nlayers.append(nn.Linear(8, 2))\nmodel = layers[-1]",
    ],
)
def test_what_comes_last_is_known(model: str) -> None:
    assert shape(model) == "4, 2"


@pytest.mark.parametrize(
    "model",
    [
        "layers.append(nn.Linear(8, 2))\nlayers.insert(0, nn.Linear(8, 4))\nmodel = layers[-1]",
        "layers.append(nn.Linear(8, 2))\nlayers.extend(torch.load('more'))\nmodel = layers[-1]",
        "if depth > 3:\n    layers.append(nn.Linear(8, 2))\nmodel = layers[-1]",
        "layers.append(nn.Linear(8, 2))\nlayers.pop()\nmodel = layers[-1]",
        "layers.append(nn.Linear(8, 2))\ndel layers[-1]\nmodel = layers[-1]",
        "layers.append(nn.Linear(8, 2))\nlayers[-1] = nn.Linear(8, 4)\nmodel = layers[-1]",
        "layers.append(nn.Linear(8, 2))\nlayers.reverse()\nmodel = layers[-1]",
        "layers.append(nn.Linear(8, 2))\nlayers.sort(key=id)\nmodel = layers[-1]",
        "layers.append(nn.Linear(8, 2))\nmodel = layers[:-1][-1]",
        "layers.append(nn.Linear(8, 2))\nmodel = list(reversed(layers))[-1]",
    ],
)
def test_what_may_come_behind_it_is_not(model: str) -> None:
    assert shape(model) != "4, 2"
