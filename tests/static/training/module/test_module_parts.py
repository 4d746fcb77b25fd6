"""What a module consists of, as far as it is looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.said import said
from torch_doctor.static.training.module import module_parts

if TYPE_CHECKING:
    import pytest

SCRIPT = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.third = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 1)

    def forward(self, x):
        return self.third(self.second(self.first(x)))

optimizer = torch.optim.SGD(Net().parameters(), lr=0.1)
"""


def test_all_parts_of_a_small_module_are_known() -> None:
    built, *_ = said(SCRIPT, "create optimizer")
    assert not built.endswith("maybe others")


def test_of_a_module_with_more_parts_than_are_looked_at_some_are_out_of_sight(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module_parts, "MOST_PARTS", 3)
    built, *_ = said(SCRIPT, "create optimizer")
    assert built.endswith("maybe others")
