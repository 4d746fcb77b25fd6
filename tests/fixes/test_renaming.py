"""A result that takes the name of the loss function gets a name of its own, wherever it is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from torch_doctor.cli.scan import command

if TYPE_CHECKING:
    from pathlib import Path

HEAD = """import torch
from torch import nn

model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
criterion = nn.MSELoss()

for _ in range(3):
    x, y = torch.randn(16, 4), torch.randn(16, 1)
    criterion = criterion(model(x), y)
    optimizer.zero_grad()
    criterion.backward()
    optimizer.step()
"""
MENDED = HEAD.replace("    criterion = criterion(", "    loss = criterion(").replace(
    "criterion.backward", "loss.backward"
)


def fixed(path: Path, text: str) -> tuple[str, str]:
    """What the file holds afterwards, and what the command said."""
    file = path / "train.py"
    file.write_text(text)
    result = CliRunner().invoke(
        command, ["--select", "TDR215", "--isolated", "--no-cache", "--fix", "-j", "1", str(file)]
    )
    return file.read_text(), result.output


def test_the_result_is_called_loss(tmp_path: Path) -> None:
    text, _ = fixed(tmp_path, HEAD)
    assert text == MENDED


def test_a_number_of_it_that_is_read_after_the_loop_is_that_of_the_result(tmp_path: Path) -> None:
    text, _ = fixed(tmp_path, f"{HEAD}print(criterion.item())\n")
    assert text == f"{MENDED}print(loss.item())\n"


def test_a_name_that_is_taken_is_not_used(tmp_path: Path) -> None:
    text, _ = fixed(tmp_path, HEAD.replace("criterion", "loss"))
    assert text == MENDED.replace("loss", "loss_value").replace("criterion", "loss")


def test_functions_that_call_the_loss_go_on_calling_it(tmp_path: Path) -> None:
    function = "\n\ndef evaluate(x, y):\n    return criterion(model(x), y)\n"
    text, _ = fixed(tmp_path, HEAD + function)
    assert text == MENDED + function


@pytest.mark.parametrize(
    "rest",
    [
        "evaluate(model, criterion)\n",
        "\n\ndef show():\n    print(criterion)\n",
        "criterion += 1\n",
        "for criterion in range(3):\n    print(criterion)\n",
    ],
)
def test_a_name_that_may_mean_either_stays(tmp_path: Path, rest: str) -> None:
    text, output = fixed(tmp_path, HEAD + rest)
    assert text == HEAD + rest
    assert "TDR215" in output


def test_a_result_that_the_next_pass_reads_stays(tmp_path: Path) -> None:
    before = HEAD.replace("    x, y =", "    print(criterion)\n    x, y =")
    text, output = fixed(tmp_path, before)
    assert text == before
    assert "TDR215" in output
