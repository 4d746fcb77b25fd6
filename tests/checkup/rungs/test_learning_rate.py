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
    assert values(rung, "suggested learning rate") == [None]  # its own is one at which the loss falls
    assert "suggested" not in rung.reason
    first, most, lowest = (
        float(str(values(rung, label)[0]))
        for label in (
            "lowest learning rate at which the loss decreases",
            "learning rate at which the loss decreases most",
            "learning rate with the lowest loss",
        )
    )
    assert first <= most <= lowest
    plot = rung.plots[0]
    assert (plot.kind, plot.x_log) == ("lines", True)
    assert [mark.label for mark in plot.marks] == ["the script's"]


NORMALIZED = ["nn.ReLU()", "nn.BatchNorm1d(32), nn.ReLU()"]


def test_no_rate_is_suggested_for_adam_at_which_only_normalization_keeps_the_loss_finite(climb: Climb) -> None:
    rung = climb(broken("lr=0.01", "lr=1e-6", *NORMALIZED), RUNG)
    suggested = float(str(values(rung, "suggested learning rate")[0]))
    assert 1e-4 < suggested < 0.05, rung.reason
    assert [mark.label for mark in rung.plots[0].marks] == ["the script's", "suggested"]


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
    slow = "optimizer.step()\n        sum(range(40_000_000))"
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


EPOCHS = ["range(2)", "range(100)"]
PLANNED = "optimizer = torch.optim.Adam(model.parameters(), lr=0.01)\nschedule = torch.optim.lr_scheduler.{}"
STEPPED = ["optimizer.step()", "optimizer.step()\n        schedule.step()"]
INDENTED = ["        optimizer.step()", "        optimizer.step()\n    schedule.step()\n    model.train()"]
ADAM_LINE = f"optimizer = torch.{ADAM}"


def scheduled(schedule: str, *changes: str) -> str:
    return broken(ADAM_LINE, PLANNED.format(schedule), *EPOCHS, *(changes or STEPPED))


def test_a_schedule_in_epochs_that_steps_with_every_batch_fails(climb: Climb) -> None:
    rung = climb(scheduled("StepLR(optimizer, step_size=10)"), RUNG)
    assert rung.status == "failed", rung.reason
    assert rung.reason.startswith("the learning rate falls from 0.01 to 1e-06 by step ")
    assert "of at least 1,200: `StepLR` steps with every optimizer step (an epoch has 12 batches)" in rung.reason
    assert rung.about == ["steps too small"]
    assert values(rung, "effective batch size") == [16]
    assert values(rung, "tensors and random generators not restored") == [0]
    assert [plot.title for plot in rung.plots] == ["Loss with an increasing learning rate", "Learning rate by step"]


TRAINER = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Trainer:
    def __init__(self, model, loader):
        self.model, self.loader = model, loader
        body, head = {{"params": model[0].parameters()}}, {{"params": model[2].parameters(), "lr": 0.02}}
        self.optimizer = torch.optim.SGD([body, head], lr=0.01)
        self.schedule = torch.optim.lr_scheduler.ExponentialLR(self.optimizer, 0.5)
        self.criterion = nn.CrossEntropyLoss()

    def epoch(self):
        for number, batch in enumerate(self.loader):
            loss = self.criterion(self.model(batch["x"]), batch["y"]) / 2
            loss.backward()
            if number % 2 == 1:
                self.optimizer.step()
                self.optimizer.zero_grad()
                self.schedule.step()
            {leave}

    def fit(self, epochs):
        for number in range(epochs):
            self.epoch()


torch.manual_seed(0)
x = torch.randn(256, 10)
rows = [{{"x": each, "y": (each[0] > 0).long()}} for each in x]
net = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 2))
Trainer(net, DataLoader(rows, batch_size=16, shuffle=True)).fit(40)
"""


def test_groups_and_accumulation_are_read_in_a_trainer_of_the_script(climb: Climb) -> None:
    rung = climb(TRAINER.format(leave="pass"), RUNG)
    assert values(rung, "effective batch size") == [32]
    groups = {fact.group: fact.value for fact in rung.evidence if fact.label == "learning rate"}
    assert groups == {"parameter group 1 of SGD": 0.01, "parameter group 2 of SGD": 0.02}
    assert values(rung, "optimizer steps of the run, at least") == [320]
    assert rung.status == "failed", rung.reason
    assert "`ExponentialLR` steps with every optimizer step" in rung.reason


def test_a_run_of_unknown_length_is_not_judged_by_its_schedule(climb: Climb) -> None:
    rung = climb(TRAINER.format(leave="if number > 500: break"), RUNG)
    assert values(rung, "optimizer steps of the run, at least") == [None]
    assert "`ExponentialLR` steps with every optimizer step" in rung.reason
    assert "steps too small" not in rung.about


@pytest.mark.parametrize(
    "script",
    [
        scheduled("OneCycleLR(optimizer, 0.01, total_steps=1200)"),
        scheduled("CosineAnnealingWarmRestarts(optimizer, T_0=12)"),
        scheduled("LambdaLR(optimizer, lambda step: min(step / 100, 1.0))"),
        scheduled("CosineAnnealingLR(optimizer, T_max=1200)"),
        scheduled("StepLR(optimizer, step_size=10)", *INDENTED),
        scheduled("ReduceLROnPlateau(optimizer)", STEPPED[0], STEPPED[1].replace("step()", "step(loss.item())")
                  .replace("optimizer.step(loss.item())", "optimizer.step()")),
    ],
    ids=["one cycle", "restarts", "warm-up", "cosine", "with every epoch", "plateau"],
)  # fmt: skip
def test_schedules_that_are_right_pass(climb: Climb, script: str) -> None:
    rung = climb(script, RUNG)
    assert rung.status == "passed", rung.reason
    assert values(rung, "the script's learning rate") == [0.01]
