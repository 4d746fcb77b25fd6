"""What code out of sight gives back may be any parameter of what it got."""

from __future__ import annotations

import pytest

from tests.said import said

SCRIPT = """
import torch
from unseen_package import prefetch
model, other = torch.nn.Linear(4, 2), torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loss = model(torch.randn(3, 4)).sum()
loss.backward()
for weight, copy in prefetch(zip(model.parameters(), other.parameters())):
"""


@pytest.mark.parametrize(
    "statement",
    [
        "weight.grad = copy.grad",
        "weight.grad /= 2",
        "weight.data = copy.data",
        "weight.copy_(copy)",
    ],
)
def test_a_change_of_what_may_be_a_parameter_escapes(statement: str) -> None:
    assert said(SCRIPT + f"    {statement}\n", "pass `model`, Linear to `weight")


def test_a_change_of_what_is_none_does_not() -> None:
    script = "import torch\nfrom unseen_package import load\nmodel = torch.nn.Linear(4, 2)\nweight = load()\nweight.copy_(weight)\n"
    assert not said(script, " to `weight")
