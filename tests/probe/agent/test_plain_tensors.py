"""Plain tensors of modules: a forward that fails shows what it took, and not what it leaves alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from torch_doctor.trace import PlainTensorUsed, claims

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch_doctor.probe import Outcome
    from torch_doctor.trace import Trace

SCRIPT = """
import torch
from torch import nn

class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.linspace(0.5, 1.5, 8)
        self.layer = nn.Linear(8, 2)

    def forward(self, x):
        {forward}

model = Scaled()
try:
    model(torch.randn(4, {columns}))
except (RuntimeError, ValueError):
    pass
"""


@pytest.fixture
def trace_of(observe: Callable[..., Outcome]) -> Callable[..., Trace]:
    """The trace of a model with this forward, on batches of so many columns."""

    def traced(forward: str, columns: int) -> Trace:
        trace = observe(SCRIPT.format(forward=forward, columns=columns)).trace
        assert trace is not None
        return trace

    return traced


def unused(trace: Trace) -> int:
    """How many plain tensors were said to be used by no operation."""
    assert trace.run is not None
    return len(trace.run.measurements(claims.PLAIN_TENSORS_UNUSED))


@pytest.mark.parametrize("columns", [8, 5], ids=["the operation is done", "the operation fails"])
def test_a_tensor_that_an_operation_takes_is_used(trace_of: Callable[..., Trace], columns: int) -> None:
    trace = trace_of("return self.layer(x * self.scale)", columns)
    assert [event.name for event in trace.of(PlainTensorUsed)] == ["scale"]
    assert unused(trace) == 0


def test_a_forward_that_ends_without_it_does_not_use_it(trace_of: Callable[..., Trace]) -> None:
    trace = trace_of("return self.layer(x)", 8)
    assert trace.of(PlainTensorUsed) == []
    assert unused(trace) == 1


@pytest.mark.parametrize(
    ("forward", "columns"),
    [("return self.layer(x) * self.scale[:2]", 5), ("raise ValueError", 8)],
    ids=["torch fails before it", "the script raises before it"],
)
def test_a_forward_that_fails_before_it_tells_nothing(
    trace_of: Callable[..., Trace], forward: str, columns: int
) -> None:
    trace = trace_of(forward, columns)
    assert trace.of(PlainTensorUsed) == []
    assert unused(trace) == 0
