"""The engine that a framework makes of a model steps the optimizer that it was given, and no other."""

from __future__ import annotations

from tests.said import said

SOURCE = """
import deepspeed
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 1)

    def forward(self, x):
        return self.layer(x)

first, second = Net(), Net()
one = torch.optim.Adam(first.parameters())
other = torch.optim.Adam(second.parameters())
first_engine, *_ = deepspeed.initialize(model=first, optimizer=one)
second_engine, *_ = deepspeed.initialize(None, second, other)
for x in torch.randn(8, 16, 4):
    first_engine.backward(first(x).mean())
    STEP
"""


def after(statement: str) -> list[str]:
    """The steps that the trace tells of in the second pass, where this is the statement after the backward pass."""
    return said(SOURCE.replace("STEP", statement), "step `")[1:]


def test_an_engine_steps_the_optimizer_it_was_given() -> None:
    assert after("first_engine.step()") == ["step `first_engine`: updates `first` (clears the gradients)"]
    assert after("second_engine.step()") == ["step `second_engine`: updates Net (clears the gradients)"]  # never called


def test_a_model_that_no_engine_was_made_of_has_no_such_step() -> None:
    assert after("Net().step()") == []
