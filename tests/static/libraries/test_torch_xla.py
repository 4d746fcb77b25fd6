"""On TPUs, a function of the library steps the optimizer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from torch_doctor.rule import all_rules
from torch_doctor.scan import Options, scan

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SCRIPT = """
import torch
import torch_xla.core.xla_model as xm
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torch_xla.distributed.parallel_loader import MpDeviceLoader

device = xm.xla_device()
rows = TensorDataset(torch.randn(64, 8), torch.randint(0, 3, (64,)))
loader = MpDeviceLoader(DataLoader(rows, batch_size=16, shuffle=True), device)
model = nn.Linear(8, 3).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    for x, y in loader:
        {first}
        nn.functional.cross_entropy(model(x), y).backward()
        xm.optimizer_step({optimizer})
"""


@pytest.mark.parametrize("optimizer", ["optimizer", "optimizer, barrier=True", "optimizer=optimizer"])
@pytest.mark.parametrize(("first", "found"), [("pass", ["TDR101"]), ("optimizer.zero_grad()", [])])
def test_gradients_that_a_step_of_the_library_leaves_have_to_be_cleared(
    optimizer: str, first: str, found: list[str], write: Callable[..., Path]
) -> None:
    path = write("train.py", SCRIPT.format(first=first, optimizer=optimizer))
    rules = tuple(rule for rule in all_rules() if rule.code.startswith("TDR10"))
    assert [finding.code for finding in scan(Options(paths=(path,), rules=rules)).findings] == found
