"""Scripts whose settings are not there: what depends on values that were made up is neither confirmed nor refuted."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

NET = """
import json
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
x, y = torch.randn(96, 8), torch.randint(0, 3, (96,))
train = DataLoader(TensorDataset(x[:64], y[:64]), batch_size=16, shuffle=True)
test = DataLoader(TensorDataset(x[64:], y[64:]), batch_size=16)
"""
LOOP = """
optimizer = torch.optim.Adam(model.parameters())
for epoch in range(2):
    {before}
    for a, b in train:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(a), b).backward()
        optimizer.step()
    {between}
    with torch.no_grad():
        print(sum((model(a).argmax(1) == b).sum().item() for a, b in test))
"""
RATE = """
settings = json.load(open("settings.json"))
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(settings["rate"]), nn.Linear(16, 3))
"""
MODE = """
settings = json.load(open("settings.json"))
model = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 3))
"""
UNREAD = """
settings = open("settings.txt").read().parsed
model = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 3))
"""
TESTED = LOOP.format(
    before='model.train() if settings["training"] else None',
    between='model.eval() if settings["mode"] == "eval" else None',
)
ARGUMENTS = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--output", choices=["softmax", "none"], required=True)
parser.add_argument("--loss", choices=["classes", "margin"], required=True)
args = parser.parse_args()
model = nn.Sequential(nn.Linear(8, 3), nn.Softmax(1) if args.output == "softmax" else nn.Identity())
loss = nn.CrossEntropyLoss() if args.loss == "classes" else nn.MultiMarginLoss()
optimizer = torch.optim.Adam(model.parameters())
for a, b in train:
    optimizer.zero_grad()
    loss(model(a), b).backward()
    optimizer.step()
"""
SCRIPTS = {
    "arguments that do not go together": (NET + ARGUMENTS, []),
    "the rate of a layer": (NET + RATE + LOOP.format(before="", between=""), [("TDR401", "undecided")]),
    "what sets the mode": (NET + MODE + TESTED, []),
    "what could not be read": (NET + UNREAD + TESTED, []),
}


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)
def test_what_depends_on_settings_that_are_not_there_has_no_verdict(
    script: tuple[str, list[tuple[str, str]]], tmp_path: Path
) -> None:
    text, wanted = script
    (tmp_path / "train.py").write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "torch_doctor", "scan", "--isolated", "--no-cache", "--probe", "train.py"]
    done = subprocess.run(
        [*command, "--output-format", "json"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "optimizer step" in done.stderr, done.stderr
    assert "reached 0 optimizer steps" not in done.stderr, done.stderr
    assert [(each["code"], each["verdict"]) for each in json.loads(done.stdout)] == wanted, done.stderr
