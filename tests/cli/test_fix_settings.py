"""Keys that decide which fixes are offered and applied: `fixable`, `unfixable`, `extend-safe-fixes`, `extend-unsafe-fixes`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from torch_doctor.cli.server import Finder
from torch_doctor.server.looking import Asked, look

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Run = Any
SCRIPT = """\
import torch
from torch import nn

model = nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.rand(8, 2), torch.rand(8, 2))):
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
model.eval
"""
CLEARED = SCRIPT.replace("    loss.backward()", "    optimizer.zero_grad()\n    loss.backward()")
CALLED = SCRIPT.replace("model.eval\n", "model.eval()\n")
BOTH = CLEARED.replace("model.eval\n", "model.eval()\n")


@pytest.fixture
def script(write: Callable[..., Path]) -> Path:
    """A script with an unsafe fix (TDR101) and a safe one (TDR111)."""
    return write("train.py", SCRIPT)


@pytest.mark.parametrize(
    ("settings", "safe", "all_fixes"),
    [
        ("", CALLED, BOTH),
        ("extend-safe-fixes = ['missing-zero-grad']", BOTH, BOTH),
        ("extend-unsafe-fixes = ['ALL']", SCRIPT, BOTH),
        ("unfixable = ['TDR111']", SCRIPT, CLEARED),
        ("fixable = ['TDR101']", SCRIPT, CLEARED),
        ("fixable = ['TDR101']\nextend-safe-fixes = ['ALL']", CLEARED, CLEARED),
        ("unfixable = ['ALL']\nfixable = ['TDR111']", CALLED, CALLED),
    ],
)
def test_fixes_are_applied_as_the_configuration_says(
    run: Run, write: Callable[..., Path], script: Path, settings: str, safe: str, all_fixes: str
) -> None:
    write("torch-doctor.toml", settings + "\n")
    run("scan", "-q")  # the next scan reads the cache
    run("scan", "-q", "--fix")
    assert script.read_text(encoding="utf-8") == safe
    write("train.py", SCRIPT)
    run("scan", "-q", "--fix", "--unsafe-fixes")
    assert script.read_text(encoding="utf-8") == all_fixes


@pytest.mark.usefixtures("script")
def test_no_fix_is_offered_for_a_rule_that_is_not_fixable(run: Run, write: Callable[..., Path]) -> None:
    offered = "--fix fixes 1; --unsafe-fixes 1 more"
    assert offered in run("scan").err
    write("torch-doctor.toml", "unfixable = ['TDR101']\n")
    outcome = run("scan")
    assert "--fix fixes 1;" in outcome.err
    assert "--unsafe-fixes" not in outcome.err
    fixes = {each["code"]: each["fix"] for each in run("scan", "--output-format", "json").json}
    assert (fixes["TDR101"], fixes["TDR111"]["applicability"]) == (None, "safe")


def test_an_editor_offers_the_same_fixes(write: Callable[..., Path], script: Path, folder: Path) -> None:
    def safe() -> dict[str, bool | None]:
        looked = look(Asked(script, script.read_bytes(), folder, mends=True), Finder())
        return {each.code: None if each.fix is None else each.fix.safe for each in looked.findings}

    assert safe() == {"TDR101": False, "TDR111": True}
    write("torch-doctor.toml", "extend-safe-fixes = ['TDR101']\nunfixable = ['TDR111']\n")
    assert safe() == {"TDR101": True, "TDR111": None}
