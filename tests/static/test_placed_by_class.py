"""Where tensors lie that a class of torch's makes, `torch.cuda.FloatTensor`, by whatever they are wrapped in."""

from __future__ import annotations

import pytest

from tests.said import said

SCRIPT = """
import torch
from torch import nn
from torch.autograd import Variable

layer = nn.Linear(3, 2).cuda()
x = {made}
layer(x)
"""
MET = "a tensor on the CPU and others on the GPU"


@pytest.mark.parametrize("made", ["torch.cuda.FloatTensor(2, 3)", "torch.cuda.FloatTensor(2, 3).uniform_(-0.5, 0.5)"])
@pytest.mark.parametrize("wrapped", ["{}", "Variable({})", "Variable({}, requires_grad=True)", "torch.as_tensor({})"])
def test_a_tensor_that_is_made_on_the_gpu_is_there(made: str, wrapped: str) -> None:
    assert not said(SCRIPT.format(made=wrapped.format(made)), MET)


def test_one_of_the_cpu_is_not() -> None:
    assert said(SCRIPT.format(made="torch.rand(2, 3)"), MET)
