"""The protocol of gradient scalers is completed, and accumulated losses are divided, where the source shows with what."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from torch_doctor.cli.scan import command

if TYPE_CHECKING:
    from pathlib import Path

HEAD = """import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.randn(64, 4), torch.randn(64, 1)), batch_size=8, shuffle=True)
model, head = nn.Linear(4, 4), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*model.parameters(), *head.parameters()], lr=0.1)
scaler = torch.amp.GradScaler("cpu")
criterion = nn.MSELoss()

"""
SCALED = """for x, y in loader:
    optimizer.zero_grad()
    loss = criterion(head(model(x)), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
"""
ACCUMULATED = """every = 4
for i, (x, y) in enumerate(loader):
    criterion(head(model(x)), y).backward()
    if (i + 1) % every == 0:
        optimizer.step()
        optimizer.zero_grad()
"""


def fixed(path: Path, code: str, text: str) -> tuple[str, str]:
    """What the file holds afterwards, and what the command said."""
    file = path / "train.py"
    file.write_text(HEAD + text)
    options = ["--select", code, "--isolated", "--no-cache", "--fix", "--unsafe-fixes", "-j", "1"]
    result = CliRunner().invoke(command, [*options, str(file)])
    return file.read_text().removeprefix(HEAD), result.output


def test_what_is_right_stays(tmp_path: Path) -> None:
    assert fixed(tmp_path, "TDR109", SCALED)[0] == SCALED


def test_gradients_that_are_clipped_twice_are_unscaled_once(tmp_path: Path) -> None:
    clips = "".join(f"    nn.utils.clip_grad_norm_({each}.parameters(), 1.0)\n" for each in ("model", "head"))
    text, _ = fixed(tmp_path, "TDR109", SCALED.replace("    scaler.step", f"{clips}    scaler.step"))
    assert text == SCALED.replace("    scaler.step", f"    scaler.unscale_(optimizer)\n{clips}    scaler.step")


def test_a_step_beside_the_scaler_keeps_the_update_that_is_there(tmp_path: Path) -> None:
    assert fixed(tmp_path, "TDR109", SCALED.replace("scaler.step(optimizer)", "optimizer.step()"))[0] == SCALED


def test_the_scaler_of_another_function_has_no_name_here(tmp_path: Path) -> None:
    clip = "def clip():\n    nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n\n\n"
    before = clip + SCALED.replace("    scaler.step", "    clip()\n    scaler.step")
    text, output = fixed(tmp_path, "TDR109", before)
    assert text == before
    assert "TDR109" in output


def test_an_expression_that_goes_backward_is_divided(tmp_path: Path) -> None:
    text, _ = fixed(tmp_path, "TDR106", ACCUMULATED)
    assert text == ACCUMULATED.replace("criterion(head(model(x)), y).b", "(criterion(head(model(x)), y) / every).b")


@pytest.mark.parametrize(
    "test",
    [
        "if i % every == every - 1:",
        "if i and (i + 1) % every == 0:",
        "if (i + 1) % every == 0 or i + 1 == len(loader):",
    ],
)
def test_the_number_is_that_of_the_test(tmp_path: Path, test: str) -> None:
    text, _ = fixed(tmp_path, "TDR106", ACCUMULATED.replace("if (i + 1) % every == 0:", test))
    assert "(criterion(head(model(x)), y) / every).backward()" in text


def test_what_is_counted_by_hand_is_not_divided(tmp_path: Path) -> None:
    counted = ACCUMULATED.replace(
        "if (i + 1) % every == 0:", "pending += 1\n    if pending >= every:\n        pending = 0"
    )
    text, output = fixed(tmp_path, "TDR106", f"pending = 0\n{counted}")
    assert text == f"pending = 0\n{counted}"
    assert "TDR106" in output
