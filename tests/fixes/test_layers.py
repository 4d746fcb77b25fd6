"""Layers that are taken out where they are built, and constructors that call that of their base."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    Mended = Callable[[str, str], str]

HEAD = """\
import torch
from collections import OrderedDict
from torch import nn

"""
TRAINING = """\
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(10):
    x, y = torch.rand(4, 2), torch.randint(0, 3, (4,))
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("model = nn.Sequential(nn.Linear(2, 3), nn.Softmax(1))\n", "model = nn.Sequential(nn.Linear(2, 3))\n"),
        (
            "model = nn.Sequential(\n    nn.Linear(2, 3),  # scores\n    nn.Softmax(dim=1)  # probabilities\n)\n",
            "model = nn.Sequential(\n    nn.Linear(2, 3),  # scores\n)\n",
        ),
        (
            "model = nn.Sequential(nn.Linear(2, 3),\n                      nn.Softmax(dim=1))\n",
            "model = nn.Sequential(nn.Linear(2, 3))\n",
        ),
        (
            "layers = [nn.Linear(2, 3), nn.Softmax(dim=1)]\nmodel = nn.Sequential(*layers)\n",
            "layers = [nn.Linear(2, 3)]\nmodel = nn.Sequential(*layers)\n",
        ),
        (
            "layers = [nn.Linear(2, 3)]\nlayers += [nn.Softmax(dim=1)]\nmodel = nn.Sequential(*layers)\n",
            "layers = [nn.Linear(2, 3)]\nmodel = nn.Sequential(*layers)\n",
        ),
        (
            'model = nn.Sequential(OrderedDict([("score", nn.Linear(2, 3)), ("scale", nn.Softmax(dim=1))]))\n',
            'model = nn.Sequential(OrderedDict([("score", nn.Linear(2, 3))]))\n',
        ),
        (
            'model = nn.Sequential(nn.Linear(2, 3))\nmodel.add_module("scale", nn.Softmax(dim=1))\n',
            "model = nn.Sequential(nn.Linear(2, 3))\n",
        ),
    ],
    ids=["by-position", "rows", "last", "list", "added-list", "names", "add_module"],
)
def test_a_layer_is_taken_out_where_it_is_built(mended: Mended, before: str, after: str) -> None:
    assert mended(HEAD + before + TRAINING, "TDR201") == HEAD + after + TRAINING


@pytest.mark.parametrize(
    "before",
    [
        "layers = [nn.Linear(2, 3)]\nif True:\n    layers.append(nn.Softmax(dim=1))\nmodel = nn.Sequential(*layers)\n",
        "head = nn.Softmax(dim=1)\nmodel = nn.Sequential(nn.Linear(2, 3), head)\n",
        "model = nn.Sequential(nn.Linear(2, 3), *[nn.Softmax(dim=1)])\n",
    ],
    ids=["alone-under-a-condition", "named", "starred"],
)
def test_a_layer_stays_where_its_place_means_more(mended: Mended, before: str) -> None:
    assert mended(HEAD + before + TRAINING, "TDR201") == HEAD + before + TRAINING


CONSTRUCTOR = """\
from torch import nn


class Net(nn.Module):
    def __init__(self, width):
{}
    def forward(self, x):
        return self.out(x)


Net(3)
"""
LAYER = "        self.out = nn.Linear(width, 1)\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (LAYER, "        super().__init__()\n" + LAYER),
        ("        super().__inti__()\n" + LAYER, "        super().__init__()\n" + LAYER),
        (
            f'        """A net."""\n        width += 1\n{LAYER}        super().__init__()\n',
            f'        """A net."""\n        super().__init__()\n        width += 1\n{LAYER}',
        ),
        (LAYER + "        nn.Module.__init__(self)\n", "        nn.Module.__init__(self)\n" + LAYER),
    ],
    ids=["missing", "misspelt", "late", "by-class"],
)
def test_a_constructor_calls_that_of_its_base_first(mended: Mended, before: str, after: str) -> None:
    assert mended(CONSTRUCTOR.format(before), "TDR302") == CONSTRUCTOR.format(after)


@pytest.mark.parametrize(
    "before",
    [
        f"        options = {{}}\n{LAYER}        super().__init__(**options)\n",
        f"{LAYER}        if width:\n            super().__init__()\n",
        f"{LAYER}        super().__init__(); self.width = width\n",
    ],
    ids=["what-it-gets-is-made-there", "condition", "shared-row"],
)
def test_a_late_call_that_cannot_come_first_stays(mended: Mended, before: str) -> None:
    assert mended(CONSTRUCTOR.format(before), "TDR302") == CONSTRUCTOR.format(before)
