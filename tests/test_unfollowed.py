"""Scripts of whose training nothing was understood."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from torch_doctor.rule import all_rules
from torch_doctor.scan import Options, Report, scan

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

INHERITED = """
import torch
from engine.base import Trainer
from helpers import meter


class Mine(Trainer):
    def step(self, batch):
        loss = self.criterion(self.model(batch["x"]), batch["y"])
        loss.backward()
        self.optimizer.step()
        meter(loss)


Mine().run()
"""
UNDERSTOOD = """
import torch
from loaders import train_loader
from models import build

model = build()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in train_loader:
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
"""


@pytest.fixture
def scanned(folder: Path) -> Callable[..., Report]:
    def run(codes: str = "TDR") -> Report:
        rules = tuple(rule for rule in all_rules() if rule.code.startswith(codes))
        return scan(Options(paths=(folder,), rules=rules))

    return run


def test_a_script_that_trains_out_of_sight_is_named_with_what_is_missing(
    write: Callable[..., Path], scanned: Callable[..., Report]
) -> None:
    write("train.py", INHERITED)
    said = "no training loop was followed in train.py: `meter` comes from helpers, which cannot be found"
    assert scanned().warnings == [said]
    write("train.py", INHERITED.replace("        meter(loss)\n", ""))
    said = "no training loop was followed in train.py: `Trainer` comes from engine.base, which cannot be found"
    assert scanned().warnings == [said]


def test_what_is_missing_may_be_nothing_that_has_a_name(
    write: Callable[..., Path], scanned: Callable[..., Report]
) -> None:
    write(
        "train.py",
        "import sys\nimport torch\n\nthing = eval(sys.argv[1])\nfor _ in range(9):\n    thing.loss().backward()\n",
    )
    assert scanned().warnings == ["no training loop was followed in train.py: what it trains is not in sight"]


@pytest.mark.parametrize(
    "text",
    [
        UNDERSTOOD,
        "import torch\nx = torch.ones(3, requires_grad=True)\n(x * x).sum().backward()\nprint(x.grad)\n",
        INHERITED.replace("Mine().run()", ""),
        "import torch\nfrom video import player\n\nplayer.backward()\n",
    ],
    ids=["its loader is unknown", "no model at all", "definitions for others", "nothing is repeated"],
)
def test_other_files_are_passed_over_in_silence(
    text: str, write: Callable[..., Path], scanned: Callable[..., Report]
) -> None:
    write("train.py", text)
    assert scanned().warnings == []


def test_rules_that_read_no_backward_say_nothing_of_it(
    write: Callable[..., Path], scanned: Callable[..., Report]
) -> None:
    write("train.py", INHERITED)
    assert scanned("TDR603").warnings == []
