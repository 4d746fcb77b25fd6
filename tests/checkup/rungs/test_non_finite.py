"""Whether the first value that is not finite is found in its stage."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.checkup.conftest import TRAINING, broken, values
from tests.checkup.rungs.test_repeatability import net
from torch_doctor.checkup.outcome import RUNGS

if TYPE_CHECKING:
    from tests.checkup.conftest import Climb, Examine

RUNG = "non-finite"


def test_a_good_script_has_none(climb: Climb) -> None:
    rung = climb(TRAINING, RUNG)
    assert rung.status == "passed"
    assert "finite for 21 steps" in rung.reason


@pytest.mark.parametrize(
    ("script", "stage", "said"),
    [
        (broken("y = (x", "x[:, 3] = float('nan')\ny = (x"), "batch", "`batch[0]` of the batch"),
        (net("x = torch.log(x - 1e3)"), "activation", "the output of"),
        (broken("criterion(model(images), labels)", "criterion(model(images), labels) / 0"), "loss", "the loss"),
        (net("x = torch.sqrt(x * 0)"), "gradient", "the gradient of"),
        (
            broken("optimizer.step()", "optimizer.step()\n        model[0].weight.data.mul_(1e30)"),
            "gradient",
            "in step",
        ),
    ],
    ids=["batch", "activation", "loss", "gradient", "later"],
)
def test_the_first_stage_is_named(climb: Climb, script: str, stage: str, said: str) -> None:
    rung = climb(script, RUNG)
    assert rung.status == "failed", rung.reason
    assert said in rung.reason
    assert values(rung, "stage") == [stage]


LOGARITHM = """
import torch
from torch import nn


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden, self.score = nn.Linear(6, 16), nn.Linear(16, 4)

    def forward(self, x):
        p = torch.softmax(4000 * self.score(self.hidden(x)), 1)
        return -(p * torch.log(p)).sum(1)


torch.manual_seed(0)
policy = Policy()
optimizer = torch.optim.Adam(policy.parameters())
for step in range(6):
    loss = -policy(torch.randn(32, 6)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_the_weights_that_the_update_spoiled_are_not_blamed(examine: Examine) -> None:
    rungs = {rung.name: rung for rung in examine(LOGARITHM, *RUNGS).checkup.rungs}
    assert rungs["non-finite"].status == "failed"
    assert rungs["non-finite"].reason.startswith("the output of `Policy` in the first step")
    assert rungs["non-finite"].next.endswith("train.py:13")
    assert rungs["overfit-one-batch"].reason == "the loss is nan from the first optimizer step on"
    assert {rungs[name].status for name in ("learning-rate", "repeatability", "device")} == {"skipped"}


ATTENDING = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 5, 8)
y = (x[:, 0, 0] > 0).long()
hidden = torch.zeros(64, 5)
hidden[:, 3:] = float("-inf")


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.attend = nn.MultiheadAttention(8, 2, batch_first=True)
        self.head = nn.Linear(8, 2)

    def forward(self, x, hidden):
        return self.head(self.attend(x, x, x, key_padding_mask=hidden)[0][:, 0])


loader = DataLoader(TensorDataset(x, hidden, y), batch_size=16, shuffle=True)
model = Reader()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(2):
    for rows, masked, labels in loader:
        optimizer.zero_grad()
        loss = criterion(model(rows, masked), labels)
        loss.backward()
        optimizer.step()
"""


def test_the_negative_infinity_of_a_mask_is_no_broken_data(climb: Climb) -> None:
    assert climb(ATTENDING, "inspect").status == "passed"
    rung = climb(broken("model(rows, masked), labels)", "model(rows, masked), labels) / 0", script=ATTENDING), RUNG)
    assert "the loss in the first step" in rung.reason


def test_negative_infinity_among_other_numbers_is(climb: Climb) -> None:
    rung = climb(
        broken("x = torch.randn(64, 5, 8)", "x = torch.rand(64, 5, 8).mul(9).long().log()", script=ATTENDING), RUNG
    )
    assert values(rung, "stage") == ["batch"]
