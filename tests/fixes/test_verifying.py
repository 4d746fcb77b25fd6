"""A fix is verified where the same weights give the same figures; one that changes others is reverted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.fixes.__main__ import check
from tests.fixes.test_fixtures import BAD, NOT_MENDED, name
from tests.sweep import WHOLE
from torch_doctor.mending import Comparison, Mended
from torch_doctor.probing import Probing
from torch_doctor.rule import Finding, all_rules
from torch_doctor.scan import Options
from torch_doctor.trace import Site

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

    Changes = Callable[..., list[str]]

BINARY = """\
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

x, y = torch.randn(200, 8), torch.randint(0, 2, (200, 1)).float()
loader = DataLoader(TensorDataset(x[:150], y[:150]), batch_size=50, shuffle=True)
val = DataLoader(TensorDataset(x[150:], y[150:]), batch_size=25)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 1)

    def forward(self, x):
        return torch.sigmoid(self.fc(x))


def evaluate(model):
    model.eval()
    hits, total = 0, 0.0
    with torch.no_grad():
        for xb, yb in val:
            scores = model(xb)
            total += criterion(scores, yb).item()
            {use}
    return hits, total / len(val)


model = Net()
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
for epoch in range(2):
    model.train()
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
    print(epoch, loss.item(), evaluate(model))
"""
SIGMOID, BARE = "torch.sigmoid(self.fc(x))", "self.fc(x)"
HARMED = {
    "threshold": "hits += ((scores > 0.5).float() == yb).sum().item()",
    "method": "hits += scores.gt(0.5).eq(yb).sum().item()",
    "rounded": "hits += (scores.round() == yb).sum().item()",
    "dict": "out = {'p': scores}; hits += int(sum(bool(p > 0.5) for p in out['p']))",
    "array": "hits += int((scores.numpy() > 0.5).sum())",
    "printed": "print(f'p = {scores.mean():.3f}')",
    "logged": "import logging; logging.warning('p = %s', scores.mean().item())",
    "saved": "torch.save({'p': scores}, 'scores.pt')",
    "written": "np.save('scores.npy', scores.numpy())",
    "list": "print(sum(scores.flatten().tolist()))",
    "hidden": "hits += eval('(scores > 0.5).float().sum().item()'); float(hits)",
    "branch": "if scores.mean() > 0.9 or scores.mean() < 0.3: hits += 1",
}
KEPT = (
    "hits += scores.argmax(0).item()",
    "hits += scores.flatten().topk(3).indices.sum().item()",
    "hits += yb.sum().item()",
    "hits += (torch.sigmoid(model.fc(xb)) > 0.5).sum().item()",
)


@pytest.fixture
def changes(folder: Path) -> Changes:
    """What comparing says of an edited script, when the edit is a fix of a rule."""

    def compared(before: str, after: str, code: str = "TDR204") -> list[str]:
        script = folder / "train.py"
        options = Options(paths=(script,), rules=tuple(all_rules()), probe=Probing(device="cpu"))
        rule = next(each for each in all_rules() if each.code == code)
        site = Site("train.py", 1, 1, 1, 2)
        finding = Finding(code, rule.name, rule.level, "", site)
        mended = Mended(
            [finding],
            origins=[(code, site)],
            before={script: before.encode()},
            after={script: after.encode()},
            shown={script: "train.py"},
        )
        comparison = Comparison(options)
        script.write_text(after)
        found = comparison.of(mended, lambda _: mended)
        assert found.reason == ""
        assert script.read_text() == after
        return found.changed

    return compared


@pytest.mark.usefixtures("farm", "records")
def test_probabilities_that_others_read_must_stay(changes: Changes) -> None:
    source = BINARY.replace("{use}", "\n            ".join(HARMED.values()))
    found = "; ".join(changes(source, source.replace(SIGMOID, BARE)))
    first = BINARY.partition("{use}")[0].count("\n") + 1
    assert [use for row, use in enumerate(HARMED, first) if f" at train.py:{row} changed from " not in found] == []


@pytest.mark.usefixtures("farm", "records")
def test_the_loss_may_change_and_what_does_not_depend_on_the_sigmoid_does_not(changes: Changes) -> None:
    source = BINARY.replace("{use}", "\n            ".join(KEPT))
    assert changes(source, source.replace(SIGMOID, BARE)) == []


@pytest.mark.usefixtures("farm", "records")
def test_a_line_says_what_changed(changes: Changes) -> None:
    source = BINARY.replace("{use}", "print('accuracy', ((scores > 0.5).float() == yb).float().mean().item())")
    first = changes(source, source.replace(SIGMOID, BARE))[0]
    assert first.startswith("`print('accuracy', ")
    assert " at train.py:27 changed from 0." in first
    assert first.endswith(" with the same weights")


@pytest.mark.usefixtures("farm", "records")
def test_a_probability_that_is_put_where_it_is_read_keeps_the_figures(changes: Changes) -> None:
    source = BINARY.replace("{use}", "hits += ((scores > 0.5).float() == yb).sum().item()")
    after = source.replace(SIGMOID, BARE).replace("(scores > 0.5)", "(torch.sigmoid(scores) > 0.5)")
    assert changes(source, after) == []


@pytest.mark.usefixtures("farm", "records")
def test_a_script_that_fails_only_with_the_fix_is_a_change(changes: Changes) -> None:
    source = BINARY.replace("{use}", "assert scores.min() > 0")
    found = changes(source, source.replace(SIGMOID, "-9 + self.fc(x)"))
    assert found[0].startswith("the script fails with the fix: AssertionError")


@pytest.mark.usefixtures("farm", "records")
def test_figures_that_change_by_themselves_count_for_nothing(changes: Changes) -> None:
    source = BINARY.replace("{use}", "import time; print('took', time.perf_counter())")
    assert changes(source, source.replace(SIGMOID, BARE)) == []


NORMED = """\
import torch
from torch import nn

model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
for step in range(4):
    x = torch.randn(16, 4)
    loss = model(x).square().mean()
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    scheduler.step()
    print(step, loss.item(), norm.item(), scheduler.get_last_lr())
    model.eval()
    print(model(torch.ones(1, 4)).item())
    model.train()
"""


@pytest.mark.usefixtures("farm", "records")
def test_cleared_gradients_change_the_updates_alone(changes: Changes) -> None:
    cleared = NORMED.replace("    loss.backward()", "    optimizer.zero_grad()\n    loss.backward()")
    assert changes(NORMED, cleared, "TDR101") == []
    assert changes(NORMED, cleared, "TDR402") != []


HIDDEN = "eval(compile('((scores > 0.5).float() == yb).sum().item()', '', 'eval'))"
"""A threshold that the source does not show."""
THRESHOLD = BINARY.replace("{use}", f"hits += {HIDDEN}; float(hits)")


@pytest.mark.usefixtures("farm", "records")
def test_a_fix_that_changes_a_figure_is_withdrawn_and_the_others_stay(
    folder: Path, write: Callable[..., Path], run: Callable[..., Outcome]
) -> None:
    source = THRESHOLD.replace("        optimizer.zero_grad()\n", "").replace("total / len(val)", "total")
    source = source.replace("batch_size=25", "batch_size=24, drop_last=True")
    write("train.py", source)
    codes = "TDR101,TDR204,TDR712"
    arguments = ["--isolated", "--no-cache", "-j", "1", "--select", codes, "--fix", "--unsafe-fixes", "--probe"]
    result = run("scan", *arguments, str(folder / "train.py"))
    assert "fix for TDR204 reverted: `print(epoch, loss.item(), evaluate(mode…` at train.py:" in result.err
    assert "TDR101 verified: " in result.err
    assert "reported values may change because the fix changes the samples in a batch" in result.err
    assert "Fixed 2 findings in 1 file." in result.err
    assert SIGMOID in (folder / "train.py").read_text()
    assert "optimizer.zero_grad()" in (folder / "train.py").read_text()


@pytest.mark.usefixtures("farm", "records")
def test_every_applied_fix_gets_a_verdict(
    folder: Path, write: Callable[..., Path], run: Callable[..., Outcome]
) -> None:
    source = BINARY.replace("{use}", "pass").replace("    with torch.no_grad():", "    with torch.enable_grad():")
    source = source.replace("        optimizer.zero_grad()\n", "").replace(
        "nn.BCEWithLogitsLoss()", "nn.BCEWithLogitsLoss(size_average=True)"
    )
    write("train.py", source)
    result = run(
        "scan", "--isolated", "--no-cache", "-j", "1", "--fix", "--unsafe-fixes", "--probe", str(folder / "train.py")
    )
    said = [line for line in result.err.splitlines() if " verified: " in line or " fixed, but not verified: " in line]
    assert f"Fixed {len(said)} findings in 1 file." in result.err
    assert len(said) >= len({"TDR101", "TDR204"})


SAMPLE = [bad for bad in BAD if name(bad) not in NOT_MENDED][7 :: 1 if WHOLE else 36]


@pytest.mark.usefixtures("farm", "folder", "records")
@pytest.mark.parametrize("bad", SAMPLE, ids=name)
def test_the_fixes_of_a_fixture_change_what_they_may_and_nothing_else(bad: Path) -> None:
    checked = check(bad)
    assert (checked.problem, checked.of("reverted")) == ("", [])
    assert checked.applied
