"""Whether the range test tells rates that are too high or too low from those that do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.checkup.conftest import TRAINING, broken, values

if TYPE_CHECKING:
    from tests.checkup.conftest import Climb, Examine

RUNG = "learning-rate"
SGD = "optim.SGD(model.parameters(), lr={})"
ADAM = "optim.Adam(model.parameters(), lr=0.01)"


def test_a_good_rate_passes(climb: Climb) -> None:
    rung = climb(TRAINING, RUNG)
    assert rung.status == "passed", rung.reason
    assert values(rung, "the script's learning rate") == [0.01]
    assert values(rung, "tensors and random generators not restored") == [0]
    suggested = values(rung, "suggested learning rate")[0]
    assert isinstance(suggested, float)
    assert 1e-3 < suggested < 1
    plot = rung.plots[0]
    assert (plot.kind, plot.x_log) == ("lines", True)
    assert [mark.label for mark in plot.marks] == ["the script's", "suggested"]


@pytest.mark.parametrize(
    ("rate", "said"),
    [("1000.0", "the learning rate is too high"), ("1e-7", "the learning rate is too low")],
    ids=["high", "low"],
)
def test_a_bad_rate_fails(examine: Examine, rate: str, said: str) -> None:
    script = broken(ADAM, SGD.format(rate))
    rung = examine(script, "overfit-one-batch", RUNG).checkup.rungs[1]
    assert rung.status == "failed", rung.reason
    assert rung.reason.startswith(said)
    assert rung.next.startswith("start with a learning rate of about")


def test_two_optimizers_are_not_told_apart(climb: Climb) -> None:
    other = f"torch.{ADAM}\nsecond = torch.optim.SGD([model[0].bias], lr=0.1)"
    rung = climb(broken(f"torch.{ADAM}", other, "optimizer.step()", "optimizer.step()\n        second.step()"), RUNG)
    assert rung.status in {"skipped", "shown", "passed"}


def test_the_rate_for_made_up_data_is_not_judged(climb: Climb) -> None:
    script = broken("x = torch.randn(256, 10)", "x = torch.load('inputs.pt')", "lr=0.01", "lr=3.0").replace(
        "x[", "x[:256, :10]["
    )
    rung = climb(script, RUNG)
    assert rung.status in {"shown", "skipped"}, rung.reason


SORTED = [
    *("x[:192], y[:192])", "16 * x[:192], y[:192].sort().values)", "shuffle=True", "shuffle=False"),
    *("lr=0.01", "lr=0.5"),
]


def test_a_rate_that_diverges_fails_though_the_first_batch_has_one_label(examine: Examine) -> None:
    rung = examine(broken(*SORTED), "overfit-one-batch", "small-subset", RUNG).checkup.rungs[-1]
    assert rung.status == "failed", rung.reason
    assert rung.reason.startswith("the learning rate is too high: the script's 0.5")


def test_a_cross_entropy_stays_above_zero_on_batches_that_are_not_equally_hard(climb: Climb) -> None:
    rung = climb(broken(*SORTED, "nn.Linear(32, 3))", "nn.Linear(32, 3))\nmodel[2].bias.data[0] = 300"), RUNG)
    measured, mean = rung.plots[0].series
    assert min(float(each or 0.0) for series in (measured, mean) for each in series.y) >= 0
    assert float(str(values(rung, "lowest running mean of the loss")[0])) >= 0


def test_a_few_steps_say_nothing_of_rates(climb: Climb) -> None:
    slow = "optimizer.step()\n        sum(range(10_000_000))"
    script = broken("optimizer.step()", slow, ADAM, SGD.format(1e-6), "x[:192],", "1e4 * x[:192],")
    rung = climb(script, RUNG, seconds=5)
    assert rung.status == "skipped", rung.reason
    assert "time" in rung.reason


REBUILT = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(256, 10)
y = (x[:, 0] > 0).long()
loader = DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True)
model = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 2))
criterion = nn.CrossEntropyLoss()


def learn(rows, labels):
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    optimizer.zero_grad()
    loss = criterion(model(rows), labels)
    loss.backward()
    optimizer.step()


for epoch in range(2):
    for rows, labels in loader:
        learn(rows[:32], labels[:32])
        learn(rows[32:], labels[32:])
"""


def test_one_optimizer_that_is_rebuilt_is_not_several_and_has_the_rate_that_is_tried(examine: Examine) -> None:
    overfit, rung = examine(REBUILT, "overfit-one-batch", RUNG).checkup.rungs
    assert "several optimizers" not in overfit.reason
    assert overfit.about == ["steps too small"]
    assert "diverges at" in rung.reason
