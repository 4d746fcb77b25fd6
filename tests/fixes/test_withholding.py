"""A fix that would cause another finding is withheld, and a line gives the reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.mending import harmless
from torch_doctor.rule import all_rules
from torch_doctor.scan import Options, scan

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

DROPPED = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

x, y = torch.randn(500, 8), torch.randint(0, 2, (500,))
loader = DataLoader(TensorDataset(x[:400], y[:400]), batch_size=32, shuffle=True, drop_last=True)
val = DataLoader(TensorDataset(x[400:], y[400:]), batch_size=32, drop_last=True)
model = nn.Linear(8, 2)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters())
best = float("inf")
for epoch in range(3):
    model.train()
    for xb, yb in loader:
        optimizer.zero_grad()
        criterion(model(xb), yb).backward()
        optimizer.step()
    model.eval()
    total = 0.0
    with torch.no_grad():
        for xb, yb in val:
            total += criterion(model(xb), yb).item()
    if total / len(val) < best:
        best = total / len(val)
        torch.save(model.state_dict(), "best.pt")
"""
CODES = {"TDR101", "TDR405", "TDR712"}


def fixed(folder: Path, run: Callable[..., Outcome], text: str, *options: str) -> tuple[Outcome, str]:
    """What is reported when the fixes of a script are applied, and what the script holds then."""
    script = folder / "train.py"
    script.write_text(text)
    result = run("scan", "--isolated", "--no-cache", "-j", "1", "--fix", *options, str(script))
    return result, script.read_text()


def test_a_fix_that_would_cause_another_finding_is_withheld(folder: Path, run: Callable[..., Outcome]) -> None:
    result, text = fixed(folder, run, DROPPED)
    assert text == DROPPED
    (line,) = [line for line in result.err.splitlines() if "not applied" in line]
    assert line == "train.py:7:7: fix for TDR712 not applied: it would introduce TDR405 mean-of-batch-means"


def test_the_other_fixes_are_applied_and_a_withheld_one_stays_withheld(
    folder: Path, run: Callable[..., Outcome]
) -> None:
    both = DROPPED.replace("        optimizer.zero_grad()\n", "")
    result, text = fixed(folder, run, both, "--unsafe-fixes")
    assert "fix for TDR712 not applied" in result.err
    assert "drop_last=True)\nmodel" in text
    assert "zero_grad()" in text


def test_code_actions_do_not_offer_a_fix_that_would_cause_another_finding(folder: Path) -> None:
    script = folder / "train.py"
    script.write_text(DROPPED.replace("        optimizer.zero_grad()\n", ""))
    options = Options(paths=(script,), rules=tuple(rule for rule in all_rules() if rule.code in CODES))
    offered = {each.code: each.fix is not None for each in harmless(scan(options), options).findings}
    assert offered == {"TDR101": True, "TDR712": False}


def test_an_import_that_two_fixes_together_leave_unused_is_removed(folder: Path, run: Callable[..., Outcome]) -> None:
    text = """\
import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = nn.Linear(4, 3)
        self.two = nn.Linear(4, 3)

    def forward(self, x):
        return F.softmax(self.one(x), dim=1), F.softmax(self.two(x), dim=1)


model = Net()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(10):
    optimizer.zero_grad()
    one, two = model(torch.randn(8, 4))
    loss = criterion(one, torch.randint(0, 3, (8,))) + criterion(two, torch.randint(0, 3, (8,)))
    loss.backward()
    optimizer.step()
"""
    _, after = fixed(folder, run, text, "--unsafe-fixes")
    assert "return self.one(x), self.two(x)" in after
    assert "functional" not in after
