from __future__ import annotations

import pytest

from tests.said import said

SCRIPT = """
import torch
from torch import nn
from elsewhere import Head


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8)), {head}

    def forward(self, x):
        return self.head(self.body(x))


model = Net()
offset = nn.Parameter(torch.zeros(2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
{frozen}.requires_grad_(False)
{then}
for _ in range(3):
    model.train()
    nn.functional.cross_entropy(model(torch.randn(8, 4)) + offset, torch.ones(8).long()).backward()
    optimizer.step()
"""
FROZEN_STEP = "step an optimizer with only frozen parameters"
STATISTICS = "frozen batch norm updates its running statistics"


def test_an_optimizer_of_what_is_frozen_steps_nothing() -> None:
    assert said(SCRIPT.format(head="nn.Linear(8, 2)", frozen="model", then=""), FROZEN_STEP)


def test_a_part_that_nobody_sees_may_train() -> None:
    assert not said(SCRIPT.format(head="Head(8)", frozen="model.body", then=""), FROZEN_STEP)


def test_frozen_batch_norm_gathers_statistics_in_training_mode() -> None:
    assert said(SCRIPT.format(head="nn.Linear(8, 2)", frozen="model.body", then=""), STATISTICS)


@pytest.mark.parametrize(
    "then",
    [
        "for part in model.body: part.requires_grad_(not isinstance(part, nn.Linear))",
        "model.train = lambda: None; model.body.eval()",
        "Head(model)",
    ],
    ids=["the norm trains", "the body evaluates", "who knows what becomes of it"],
)
def test_nothing_is_said_where_that_is_not_certain(then: str) -> None:
    assert not said(SCRIPT.format(head="nn.Linear(8, 2)", frozen="model.body", then=then), STATISTICS)


ARMS = """
import argparse
import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--frozen", action="store_true")
args = parser.parse_args()
body = nn.Linear(4, 8)
model = nn.Sequential(body, nn.Linear(8, 2))
optimizer = torch.optim.SGD({of}.parameters(), lr=0.1, momentum=0.9)
{before}
if {test}:
    {first}
    train()
else:
    {second}
    train()
"""
TRAIN = """
def train():
    nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.ones(8).long()).backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=False)
"""
OLD_GRADIENT = "step frozen parameters that have an old gradient"


@pytest.mark.parametrize("frozen", [0, 1], ids=["frozen first", "frozen last"])
@pytest.mark.parametrize("trained", [False, True], ids=["as built", "trained before"])
def test_what_one_arm_did_is_not_known_in_the_other(*, frozen: int, trained: bool) -> None:
    arms = {"first": "body.requires_grad_(False)", "second": "pass", "test": "args.frozen"}
    if frozen:
        arms = {"first": "pass", "second": "body.requires_grad_(False)", "test": "not args.frozen"}
    before = f"{TRAIN}\n{'train()' if trained else ''}"
    assert bool(said(ARMS.format(of="model", before=before, **arms), OLD_GRADIENT)) is trained


def test_what_another_arm_trains_does_not_hide_that_nothing_moves() -> None:
    arms = {"first": "pass", "second": "body.requires_grad_(False)", "test": "not args.frozen"}
    assert said(ARMS.format(of="body", before=TRAIN, **arms), FROZEN_STEP)
