"""What nobody calls is run in the state in which the top level of its file ended, and that is executed once."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from torch_doctor.rule import all_rules
from torch_doctor.scan import Options, Report, scan
from torch_doctor.static import entry_points, tops
from torch_doctor.static.run import Run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TRAIN = """
import torch
from torch import nn
from setup import make

model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.Linear(4, 2))
layer = make()
optimizer = torch.optim.SGD([*model.parameters(), *layer.parameters()], lr=0.1)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(8, 4), torch.zeros(8).long()))
for x, y in loader:
    loss = nn.functional.cross_entropy(model(layer(x)), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
model.eval()


def again():
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()


def resume(path):
    state = torch.load(path)
    model.load_state_dict(state)


def score():
    return sum((model(x).argmax(1) == y).sum() for x, y in loader)  # TDR402
"""
SETUP = """
import torch
from torch import nn


def make():
    return nn.Linear(4, 4)
"""


@pytest.fixture
def scanned(write: Callable[..., Path]) -> Callable[[], Report]:
    write("setup.py", SETUP)
    path = write("train.py", TRAIN)
    return lambda: scan(Options(paths=(path,), rules=tuple(all_rules())))


def told(report: Report) -> list[str]:
    return [f"{found.site} {found.code} {found.message} {found.trail}" for found in report.findings]


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often the top level of each file is executed as that of a script."""
    counted: Counter[str] = Counter()
    inner = Run.run

    def run(executor: Run) -> None:
        counted[executor.main.source.display] += 1
        inner(executor)

    monkeypatch.setattr(Run, "run", run)
    return counted


def test_the_top_level_is_executed_once(scanned: Callable[[], Report], runs: Counter[str]) -> None:
    assert not scanned().errors
    assert runs == {"train.py": 1}


@pytest.mark.parametrize("limit", ["WORTH", "MOST"])
def test_where_it_is_executed_again_the_same_is_told(
    scanned: Callable[[], Report], runs: Counter[str], limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = told(scanned())
    assert "TDR402" in {line.split()[1] for line in kept}
    monkeypatch.setattr(tops, limit, 0 if limit == "MOST" else 100_000)
    assert told(scanned()) == kept
    assert runs["train.py"] > 2


def test_a_script_that_takes_too_many_steps_is_cut_off_once(
    scanned: Callable[[], Report], runs: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entry_points, "STEPS_TRAINING", (40, 0))
    monkeypatch.setattr(entry_points, "STEPS_SCRIPT", (35, 0))
    monkeypatch.setattr(tops, "WORTH", 1)
    report = scanned()
    assert any("step limit" in note for note in report.notes)
    assert runs == {"train.py": 1}
