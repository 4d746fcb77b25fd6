"""Checkups of small scripts."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from torch_doctor.checkup.running import Examined, Wanted
from torch_doctor.checkup.running import checkup as examined
from torch_doctor.probing import Probing
from torch_doctor.rule import all_rules
from torch_doctor.scan import Options

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.records.records import Records
    from torch_doctor.checkup.outcome import Fact, Rung

    Examine = Callable[..., Examined]
    Climb = Callable[..., Rung]

TRAINING = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(256, 10)
y = (x[:, 0] > 0).long() + (x[:, 1] > 0).long()
train_loader = DataLoader(TensorDataset(x[:192], y[:192]), batch_size=16, shuffle=True)
val_loader = DataLoader(TensorDataset(x[192:], y[192:]), batch_size=16)
model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 3))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(2):
    model.train()
    for images, labels in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        for images, labels in val_loader:
            criterion(model(images), labels)
"""
"""A script that trains as it should."""


class Heard:
    """Remembers what a listener hears."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def scanning(self, script: str) -> None:
        self.said.append(f"scanning {script}")

    def rung_started(self, name: str) -> None:
        self.said.append(f"{name} …")

    def rung_ended(self, rung: Rung) -> None:
        self.said.append(f"{rung.name} {rung.status}")


@pytest.fixture(autouse=True)
def _forked(farm: None, records: Records) -> None:
    """The runs fork from a process with torch in it: importing torch takes most of the time of so small scripts.

    Those of which nothing changed are told again.
    """


@pytest.fixture
def heard() -> Heard:
    """A listener."""
    return Heard()


@pytest.fixture
def examine(write: Callable[..., Path], heard: Heard) -> Examine:
    """Examines a script with some rungs."""

    def examine_script(
        script: object,
        *rungs: str,
        seconds: float = 60,
        verdicts: bool = False,
        codes: tuple[str, ...] = (),
        examples: int = 0,
    ) -> Examined:
        path = write("train.ipynb" if isinstance(script, list) else "train.py", script)
        how = Probing(python=sys.executable)
        scan = Options(paths=(path,), rules=tuple(each for each in all_rules() if each.code in codes), probe=how)
        return examined(
            Wanted(
                scan=scan,
                script=path,
                shown=path.name,
                seconds=seconds,
                rungs=rungs,
                verdicts=verdicts,
                examples=examples,
            ),
            heard,
        )

    return examine_script


@pytest.fixture
def climb(examine: Examine) -> Climb:
    """Examines a script with one rung, which is given."""

    def climb_rung(script: object, rung: str, **how: object) -> Rung:
        return examine(script, rung, **how).checkup.rungs[0]

    return climb_rung


def broken(*changes: str, script: str = TRAINING) -> str:
    """The script with each text replaced by the one that follows."""
    for old, new in zip(changes[::2], changes[1::2], strict=True):
        assert old in script
        script = script.replace(old, new)
    return script


def values(rung: Rung, label: str) -> list[object]:
    """What a rung measured under a label."""
    return [fact.value for fact in rung.evidence if fact.label == label]


def labels(facts: list[Fact]) -> list[str]:
    """What was measured."""
    return [fact.label for fact in facts]
