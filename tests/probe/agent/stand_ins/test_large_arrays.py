"""Arrays for which there is no memory have fewer rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.usefixtures("farm", "records")

MEMORY = """
import numpy as np
import torch
from torch import nn

class Memory:
    def __init__(self, capacity):
        self.states = np.zeros((capacity, 84, 84, 4), dtype=np.float64)
        self.rewards = torch.zeros(8, 84 * 84 * 4)
        self.capacity, self.place = capacity, 0

    def store(self, state, reward):
        self.states[self.place], self.rewards[self.place] = state, reward
        self.place = (self.place + 1) % self.capacity

memory = Memory(10_000_000_000)
model = nn.Linear(84 * 84 * 4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for step in range(4):
    memory.store(np.ones((84, 84, 4)), step)
    inputs = torch.from_numpy(memory.states[: step + 1]).float().flatten(1)
    optimizer.zero_grad()
    (model(inputs) - memory.rewards[: step + 1, :1]).pow(2).mean().backward()
    optimizer.step()
"""


def test_a_memory_that_is_too_large_has_fewer_rows(run: Any, write: Callable[..., Any]) -> None:
    write("train.py", MEMORY)
    err = run("scan", "train.py", "--probe", "--isolated").err
    assert "reached 4 optimizer steps" in err, err
    assert "2267 rows of it instead of `numpy.zeros(10000000000×84×84×4)`" in err, err


def test_few_rows_are_not_fewer(run: Any, write: Callable[..., Any]) -> None:
    write("train.py", "import numpy as np, torch\nprint(np.zeros((64, 10**13)).shape, torch.ones(1))\n")
    assert "rows of it" not in run("scan", "train.py", "--probe", "--isolated").err
