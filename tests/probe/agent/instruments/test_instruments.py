"""What holds for all instruments: the script computes what it computes without them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from torch_doctor.probe.agent import instruments, watching
from torch_doctor.rule import all_rules

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch_doctor.probe import Outcome

INSTRUMENTS = Path(instruments.__file__).parent
BASE = "instrument.py"
NEEDS = sorted(
    path.stem
    for path in INSTRUMENTS.rglob("*.py")
    if path.name != BASE and "\nclass Instrument(" in path.read_text(encoding="utf-8")
)
OF_TABLES = {"term_gradients"}
"""What no rule needs, but `trace --gradients` and the checkup."""
SCRIPT = """
import random
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
random.seed(0)
data = TensorDataset(torch.randn(48, 4), torch.randn(48, 1))
train, held_out = DataLoader(data, batch_size=8, shuffle=True), DataLoader(data, batch_size=16)
model = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
for epoch in range(2):
    model.train()
    for x, y in train:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x + 0.1 * torch.randn_like(x)), y)
        loss.backward()
        optimizer.step()
        print(loss.item(), random.random())
    model.eval()
    with torch.no_grad():
        print(sum(nn.functional.mse_loss(model(x), y).item() for x, y in held_out))
    torch.save(model.state_dict(), "model.pt")
    print(all(part.training is False for part in model.modules()), torch.rand(1).item(), random.random())
model.load_state_dict(torch.load("model.pt", weights_only=True))
print(sum(each.double().sum().item() for each in model.state_dict().values()))
"""


def test_the_instruments_are_those_that_rules_need() -> None:
    assert sorted({need for rule in all_rules() for need in rule.needs} | OF_TABLES) == NEEDS


def test_a_name_means_one_part_of_one_family() -> None:
    names = [path.stem for path in INSTRUMENTS.rglob("*.py") if path.name != "__init__.py"]
    assert sorted(names) == sorted(set(names))


def test_the_families_are_those_of_the_watchers() -> None:
    watched = {path.parent.name for path in Path(watching.__file__).parent.glob("*/__init__.py")}
    assert {path.parent.name for path in INSTRUMENTS.glob("*/__init__.py")} <= watched


@pytest.mark.parametrize("need", NEEDS)
def test_the_script_computes_what_it_computes_without(observe: Callable[..., Outcome], need: str) -> None:
    plain = observe(SCRIPT).output
    assert len(plain.splitlines()) >= 8
    assert observe(SCRIPT, need).output == plain
