"""Loads of weights in a run: those of the script, and those of a library that it calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

ZOO = """
from torch import nn


def pretrained(strict=True):
    model = nn.Linear(4, 2)
    weights = model.state_dict() if strict else {"other": model.weight.detach()}
    model.load_state_dict(weights, strict=strict)
    return model
"""
SCRIPT = """
import sys

import torch

sys.path.append("site-packages")
import zoo
from zoo import pretrained

model = {built}
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    model(torch.randn(8, 4)).square().mean().backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    "built",
    ["zoo.pretrained()", 'zoo.pretrained().to("cpu")', "zoo.pretrained(strict=False)", "zoo.pretrained().train()"],
)
def test_what_a_library_does_with_the_result_of_a_load_is_not_the_scripts(
    run: Callable[..., Outcome], write: Callable[..., Path], built: str
) -> None:
    write("site-packages/zoo.py", ZOO)
    write("train.py", SCRIPT.format(built=built))
    done = run("scan", "--probe", "--select", "TDR606", "train.py")
    assert done.out == ""
    assert "reached 3 optimizer steps" in done.err
