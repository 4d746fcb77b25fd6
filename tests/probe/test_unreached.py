"""What is said of a script that ends without an update, and what is learnt of the option that kept it from one."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = """\
import argparse
import sys
import torch

parser = argparse.ArgumentParser()
parser.add_argument("--mode", default="test")
parser.add_argument("--fit", action="store_true")
args = parser.parse_args()
net = torch.nn.Linear(4, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def train(batches):
    for epoch in range(3):
        for batch in batches:
            optimizer.zero_grad()
            net(batch).sum().backward()
            optimizer.step()


def batches():
    return [torch.randn(2, 4) for _ in range(4)]


"""
ENDS = {
    "no batches": ("train([])", "train.py:15 (`for batch in batches:`) had nothing to go over"),
    "left out of the loop": (
        "train([each for each in batches() if each is None])",
        "train.py:15 (`for batch in batches:`) had nothing to go over",
    ),
    "exits": (
        "print('choose a mode')\nsys.exit()",
        "it exits at train.py:26 (`sys.exit()`); last line of output: choose a mode",
    ),
    "a test of the machine": (
        "if len(sys.argv) > 5:\n    train(batches())",
        "the test at train.py:25 (`if len(sys.argv) > 5:`) did not lead to the training",
    ),
    "not called": ("print('ready')", "nothing that ran calls the training at train.py:13 (`def train(batches):`)"),
}


def _told(tmp_path: Path, text: str, *arguments: str) -> str:
    (tmp_path / "train.py").write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "torch_doctor", "scan", "--isolated", "--no-cache", "--probe", "-v", "train.py"]
    done = subprocess.run([*command, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False)
    return " ".join(done.stderr.split())


@pytest.mark.parametrize(("last", "why"), ENDS.values(), ids=ENDS)
def test_what_kept_a_script_from_an_update_is_told(tmp_path: Path, last: str, why: str) -> None:
    told = _told(tmp_path, SCRIPT + last + "\n")
    assert "incomplete run: train.py" in told, told
    assert why in told.partition("incomplete run: ")[2], told


@pytest.mark.parametrize(
    "test",
    ["args.mode == 'train'", "args.fit", "args.mode in ('train', 'both')"],
)
def test_the_option_that_leads_to_the_training_is_learnt(tmp_path: Path, test: str) -> None:
    told = _told(tmp_path, f"{SCRIPT}if {test}:\n    train(batches())\nelse:\n    print(net)\n")
    assert re.search("leads to the training|`args.mode` is 'train'", told), told
    assert "reached 6 optimizer steps" in told or "reached 8 optimizer steps" in told, told
    assert "incomplete run" not in told, told


def test_who_gives_arguments_may_want_something_else(tmp_path: Path) -> None:
    text = f"{SCRIPT}if args.fit:\n    train(batches())\n"
    told = _told(tmp_path, text, "--", "--mode", "show")
    assert "leads to the training" not in told, told
