"""What a scan keeps in memory: it stays flat, however many files there are."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import pytest

from torch_doctor.scan import Options, examining, scan
from torch_doctor.static.run import Run
from torch_doctor.static.unit import Unit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from torch_doctor.rule import Rule
    from torch_doctor.scan.examining import Examined

SCRIPT = """
import torch
from torch import nn
from .helper import mean
from absent import nothing

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 2)

    def forward(self, x):
        return self.layer(x)

def train(model, loader):
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for x, y in loader:
        loss = mean(model(x), y)
        loss.backward()
        optimizer.step()

train(Net(), torch.utils.data.DataLoader(dataset))
torch.load("model.pt")
"""
HELPER = "import torch\n\ndef mean(x, y):\n    return torch.nn.functional.mse_loss(x, y)\n\ndef alone(x):\n    x.backward()\n"
FOLDERS = 30


@pytest.fixture
def without_automatic_collection() -> Iterator[None]:
    """Cycles stay, as they do in a scan: it collects so seldom that they would stay for as long as it lasts.

    What there is already, torch among it, is no longer walked through.
    """
    gc.collect()
    gc.freeze()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("without_automatic_collection")
def test_the_programs_and_runs_of_files_that_are_done_are_forgotten(
    rules: tuple[Rule, ...], folder: Path, write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(FOLDERS):
        write(f"part{number}/train.py", SCRIPT)
        write(f"part{number}/helper.py", HELPER)
    monkeypatch.setattr(examining, "MOST_CHARACTERS", 3 * len(SCRIPT))
    alive: list[int] = []
    examine = examining.Examiner.file

    def examined(self: examining.Examiner, *arguments: object) -> Examined:
        found = examine(self, *arguments)  # type: ignore[arg-type]  # those of `examine`
        alive.append(sum(isinstance(each, (Unit, Run)) for each in gc.get_objects()))
        return found

    monkeypatch.setattr(examining.Examiner, "file", examined)
    report = scan(Options(paths=(folder,), rules=rules, known=frozenset(), jobs=1))
    assert len(report.findings) >= FOLDERS
    assert len(alive) == 2 * FOLDERS
    assert max(alive[FOLDERS:]) <= max(alive[:FOLDERS])
