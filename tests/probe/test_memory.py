"""Memory is watched in the processes that a probe starts: here without the farm, whose probes are its own children."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Run = Any  # arguments to outcome

TRAIN = """
import torch
from torch import nn

model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for number in range(6):
    loss = nn.functional.mse_loss(model(torch.randn(8, 4)), torch.randn(8, 1))
    loss.backward()
    optimizer.step()
kept = []
"""


@pytest.mark.parametrize(
    "script",
    ["while True:\n    kept.append(bytearray(1 << 24))\n", "while True:\n    kept.append(torch.ones(1 << 22))\n"],
    ids=["bytes", "tensors"],
)
def test_a_script_that_takes_all_memory_is_ended(run: Run, write: Callable[..., Path], script: str) -> None:
    write("train.py", TRAIN + script)
    outcome = run("scan", "train.py", "--probe", "--isolated", "--probe-memory", "1500")
    assert outcome.status == 1
    assert "TDR101" in outcome.out
    assert "used more than 1500 MiB of memory and was stopped" in outcome.err
