"""TDR603 offers no fix for a checkpoint that torch would refuse to read then, or where torch may lack the argument."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from torch_doctor.mending import with_proposals
from torch_doctor.rule import all_rules
from torch_doctor.scan import Options, scan

if TYPE_CHECKING:
    from pathlib import Path

    from torch_doctor.rule import Finding

SCRIPT = """\
import argparse

import numpy as np
import torch
from torch import nn
from sklearn.metrics import f1_score

parser = argparse.ArgumentParser()
parser.add_argument("--teacher", default="")
args = parser.parse_args()
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
if args.teacher:
    model.load_state_dict(torch.load(args.teacher{limits})["teacher"])
losses = []
for epoch in range(3):
    optimizer.zero_grad()
    loss = model(torch.randn(8, 4)).square().mean()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
torch.save({{"model": model.state_dict(), "epoch": epoch, "extra": {extra}}}, "last.pt")
"""


def found(folder: Path, extra: str, limits: str = ", weights_only=False", pin: str = "") -> Finding:
    """The finding about the checkpoint that is read."""
    (folder / "train.py").write_text(SCRIPT.format(extra=extra, limits=limits))
    (folder / "requirements.txt").write_text(f"{pin}\n")
    options = Options(paths=(folder / "train.py",), rules=tuple(each for each in all_rules() if each.code == "TDR603"))
    (finding,) = with_proposals(scan(options), options).findings
    return finding


@pytest.mark.parametrize(
    "extra",
    [
        "np.mean(losses)",
        "np.max(losses) / 2",
        "np.array(losses).max()",
        "loss.detach().numpy()",
        "{'f1': f1_score([0, 1], [0, 1])}",
        "args",
        "torch.optim.lr_scheduler.StepLR(optimizer, 1)",
    ],
)
def test_what_is_refused_keeps_the_limits_away(folder: Path, extra: str) -> None:
    finding = found(folder, extra)
    assert finding.fix is None
    assert "Python numbers in line 22" in finding.help


@pytest.mark.parametrize(
    "extra", ["float(np.mean(losses))", "losses", "loss.item()", "sum(losses) / 3", "args.teacher"]
)
def test_plain_numbers_and_texts_are_read_with_limits(folder: Path, extra: str) -> None:
    assert found(folder, extra).fix is not None


@pytest.mark.parametrize(("pin", "offered"), [("torch>=1.12,<2.6", False), ("torch>=1.13,<2.6", True)])
def test_every_torch_of_the_project_has_to_know_the_argument(folder: Path, pin: str, offered: bool) -> None:
    finding = found(folder, "losses", limits="", pin=pin)
    assert (finding.fix is not None) is offered
    assert ("require torch 1.13" in finding.help) is not offered
