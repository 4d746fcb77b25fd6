"""Whole models in files and on the hub that are not there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.usefixtures("farm", "records")

TRAIN = """
import torch
from torch import nn

def run(model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(torch.randn(4, 8)), torch.randint(0, 5, (4,))).backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("script", "told"),
    [
        (
            'model = torch.load("models/net.pth", map_location="cpu", weights_only=False)\nmodel.train()\nrun(model)',
            "`torch.load('models/net.pth')` (checkpoint not found)",
        ),
        (
            'model = torch.load("models/base.pt")\nmodel.fc = nn.Linear(model.fc.in_features, 5)\nrun(model)',
            "`torch.load('models/base.pt')` (checkpoint not found)",
        ),
        (
            'encoder = torch.jit.load("encoder.pt")\nrun(nn.Sequential(encoder, nn.Linear(16, 5)))',
            "`torch.jit.load('encoder.pt')` (checkpoint not found)",
        ),
        (
            'model = torch.hub.load("someone/models", "large")\nmodel.eval()\nrun(nn.Sequential(model, nn.Linear(384, 5)))',
            "`torch.hub.load('someone/models', 'large')` (the probe downloads nothing)",
        ),
    ],
)
def test_a_model_is_what_the_script_takes_it_for(
    run: Callable[..., Any], write: Callable[..., Any], script: str, told: str
) -> None:
    write("train.py", TRAIN + script)
    outcome = run("scan", "train.py", "--probe", "--isolated")
    assert "reached 4 optimizer steps" in outcome.err, outcome.err
    assert told in outcome.err


def test_the_sizes_in_a_checkpoint_are_numbers(run: Callable[..., Any], write: Callable[..., Any]) -> None:
    script = """
saved = torch.load("net.pth")
model = nn.Sequential(nn.Linear(8, saved["config"]["hidden_size"]), nn.Linear(saved["config"]["hidden_size"], 5))
model.load_state_dict(saved["model"])
assert saved["epoch"] == 0 and saved["n_iter"] == 0
run(model)
"""
    write("train.py", TRAIN + script)
    outcome = run("scan", "train.py", "--probe", "--isolated")
    assert "reached 4 optimizer steps" in outcome.err, outcome.err
    assert "4 instead of `'hidden_size' of a checkpoint`" in outcome.err


def test_a_file_that_is_no_model_is_missing(run: Callable[..., Any], write: Callable[..., Any]) -> None:
    write("train.py", TRAIN + 'words = torch.load("words.pt")\nprint(sorted(words))\nrun(nn.Linear(8, 5))')
    outcome = run("scan", "train.py", "--probe", "--isolated")
    assert "a module" not in outcome.err
