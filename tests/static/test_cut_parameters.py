from __future__ import annotations

import pytest

from tests.said import said

SCRIPT = """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.scale = nn.Linear(4, 2), nn.Parameter(torch.ones(()))

    def penalty(self):
        return {penalty}

    def forward(self, x):
        return self.fc(x) * {taken}


model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    loss = nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.ones(8).long()) + model.penalty()
    loss.backward()
    optimizer.step()
    print(model.scale.item())
"""
ALL = "its only use in the loss"


@pytest.mark.parametrize(
    "taken", ["self.scale.item()", "self.scale.detach()", "self.scale.detach().exp().item()", "self.scale.exp().item()"]
)
def test_a_parameter_that_comes_to_the_loss_without_its_graph_is_cut_off(taken: str) -> None:
    assert said(SCRIPT.format(taken=taken, penalty="0"), ALL)


@pytest.mark.parametrize(
    "penalty",
    [
        "self.scale ** 2",
        "sum(each.norm() for each in self.parameters())",
        "dict(self.named_parameters())['scale']",
        "self.scale.exp()",
        "torch.stack([self.scale.exp(), self.fc.bias.sum()]).sum()",
    ],
)
def test_it_is_not_where_it_comes_there_in_another_way_too(penalty: str) -> None:
    assert not said(SCRIPT.format(taken="self.scale.detach()", penalty=penalty), ALL)


def test_a_number_for_a_log_cuts_nothing_off() -> None:
    assert not said(SCRIPT.format(taken="self.scale", penalty="0"), ALL)
