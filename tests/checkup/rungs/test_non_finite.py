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
    assert "finite for 21 steps; gradient norm" in rung.reason
    assert "clipped" not in rung.reason
    assert values(rung, "steps with clipped gradients") == [0.0]
    assert {*values(rung, "layer with the largest gradient"), *values(rung, "layer with the smallest gradient")} <= {
        "0",
        "2",
    }
    (plot,) = rung.plots
    assert [(series.label, len(series.y)) for series in plot.series] == [("gradient norm", 21)]
    assert (values(rung, "largest gradient norm"), plot.y_log) == (
        [max(map(float, filter(None, plot.series[0].y)))],
        True,
    )


@pytest.mark.parametrize(
    ("script", "stage", "said"),
    [
        (broken("y = (x", "x[:, 3] = float('nan')\ny = (x"), "batch", "NaN in `batch[0]` of the batch"),
        (net("x = torch.log(x - 1e3)"), "activation", "the output of"),
        (broken("criterion(model(images), labels)", "criterion(model(images), labels) / 0"), "loss", "the loss"),
        (net("x = torch.sqrt(x * 0)"), "gradient", "the gradient of"),
        (
            broken("optimizer.step()", "optimizer.step()\n        model[0].weight.data.mul_(1e30)"),
            "parameter",
            "the parameter `0.weight` after the optimizer step in step",
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
    assert "the loss in the first step is the first non-finite value" in rung.reason


def test_negative_infinity_among_other_numbers_is(climb: Climb) -> None:
    rung = climb(
        broken("x = torch.randn(64, 5, 8)", "x = torch.rand(64, 5, 8).mul(9).long().log()", script=ATTENDING), RUNG
    )
    assert values(rung, "stage") == ["batch"]


SPOILT = ["criterion = nn", "x[3, 2] = float('{}')\ncriterion = nn"]


@pytest.mark.parametrize(("value", "said"), [("nan", "NaN"), ("-inf", "infinity")], ids=["NaN", "infinity"])
def test_one_bad_value_among_many_samples_is_named_by_its_kind_and_sample(climb: Climb, value: str, said: str) -> None:
    rung = climb(broken(SPOILT[0], SPOILT[1].format(value)), RUNG)
    assert rung.status == "failed", rung.reason
    assert rung.reason.startswith(
        f"{said} in `batch[0]` of the batch (1 of 160 values in 1 sample, first in sample 3 of the"
    )
    assert rung.about == ["data not finite"]


def test_missing_values_that_the_script_replaces_are_no_failure(climb: Climb) -> None:
    script = broken(SPOILT[0], SPOILT[1].format("nan"), "model(images)", "model(images.nan_to_num())")
    rung = climb(script, RUNG)
    assert rung.status == "passed", rung.reason
    assert rung.reason.startswith("1 batch contains values that are not finite, but outputs, loss")


STEP = "optimizer.step()"


@pytest.mark.parametrize(
    ("clip", "kept"),
    [
        ("nn.utils.clip_grad_norm_(model.parameters(), 1e-4)", 1e-3),
        ("torch.nn.utils.clip_grad.clip_grad_value_(model.parameters(), clip_value=1e-5)", 1e-2),
        ("[nn.utils.clip_grad_norm_(each, max_norm=1e-4) for each in model.parameters()]", 1e-2),
    ],
    ids=["norm", "value", "each parameter"],
)
def test_clipping_is_measured(climb: Climb, clip: str, kept: float) -> None:
    rung = climb(broken(STEP, f"{clip}\n        {STEP}"), RUNG)
    assert rung.status == "passed", rung.reason
    assert "every step is clipped, to 0.0" in rung.reason
    assert values(rung, "steps with clipped gradients") == [100.0]
    assert 0 < float(str(values(rung, "part of the gradient norm kept by clipping, median")[0])) < kept
    before, after = rung.plots[0].series
    assert all((one or 0) > (other or 0) for one, other in zip(before.y, after.y, strict=True))


def test_a_limit_that_no_gradient_reaches_clips_nothing(climb: Climb) -> None:
    rung = climb(broken(STEP, f"nn.utils.clip_grad_norm_(model.parameters(), 1e6)\n        {STEP}"), RUNG)
    assert values(rung, "steps with clipped gradients") == [0.0]
    assert "clipped" not in rung.reason


def test_a_batch_with_a_far_larger_gradient_is_a_spike(climb: Climb) -> None:
    rung = climb(broken("criterion = nn", "x[16] *= 1e4\ncriterion = nn", "shuffle=True", "shuffle=False"), RUNG)
    assert "above 10 × the median in step" in rung.reason
    assert values(rung, "spike in step")[0] == 2


def test_large_gradients_at_first_are_no_spikes(climb: Climb) -> None:
    """A loss that falls has its largest gradients before it does."""
    falls = ("lr=0.01", "lr=0.1", "criterion = nn", "model[0].weight.data *= 20\ncriterion = nn")
    rung = climb(broken(*falls), RUNG)
    assert not values(rung, "spike in step"), rung.reason


BY_HAND = [
    STEP,
    "\n        with torch.no_grad():\n            for each in model.parameters():\n                each -= 0.1 * each.grad",
    *("optimizer = torch.optim.Adam(model.parameters(), lr=0.01)\n", "", "optimizer.zero_grad()", "model.zero_grad()"),
]


def test_updates_by_hand_have_norms_too(climb: Climb) -> None:
    rung = climb(broken(*BY_HAND), RUNG)
    assert rung.status == "passed", rung.reason
    assert len(rung.plots[0].series[0].y) == 21


TWO_MODELS = """
import torch
from torch import nn

torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
critic = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1))
first, second = torch.optim.Adam(generator.parameters(), 1e-3), torch.optim.RMSprop(critic.parameters(), 1e-3)
score = nn.BCEWithLogitsLoss()
for step in range(20):
    real, noise = torch.randn(32, 2), torch.randn(32, 4)
    second.zero_grad()
    fake = generator(noise)
    loss = score(critic(real), torch.ones(32, 1)) + score(critic(fake.detach()), torch.zeros(32, 1))
    loss.backward()
    second.step()
    first.zero_grad()
    score(critic(fake), torch.ones(32, 1)).backward()
    first.step()
"""


def test_each_optimizer_has_its_own_norms(climb: Climb) -> None:
    rung = climb(TWO_MODELS, RUNG)
    assert rung.status == "passed", rung.reason
    assert [plot.title for plot in rung.plots] == [
        "Gradient norm, optimizer 1 (RMSprop)",
        "Gradient norm, optimizer 2 (Adam)",
    ]
    assert all(len(plot.series[0].y) == 21 for plot in rung.plots)


def test_parameters_that_are_not_finite_from_the_start_are_named(climb: Climb) -> None:
    rung = climb(broken("criterion = nn", "model[2].bias.data.fill_(float('nan'))\ncriterion = nn"), RUNG)
    assert rung.status == "failed"
    assert rung.reason.startswith("the parameter `2.bias` is not finite before the first step")


def test_a_parameter_that_takes_no_part_is_no_failure(climb: Climb) -> None:
    script = broken("criterion = nn", "model.unused = nn.Parameter(torch.full((2,), float('nan')))\ncriterion = nn")
    assert (
        climb(broken("model(images)", "model[2](model[1](model[0](images)))", script=script), RUNG).status == "passed"
    )


def test_other_rungs_refer_to_the_triage_only_if_it_found_the_value(examine: Examine) -> None:
    script = broken(SPOILT[0], SPOILT[1].format("nan"), "shuffle=True", "shuffle=False")
    first, found = examine(script, "overfit-one-batch", RUNG).checkup.rungs
    assert first.about == found.about == ["data not finite"]
    assert (first.next, found.status) == ("see non-finite for where the first such value appears", "failed")
    (alone,) = examine(script, "overfit-one-batch").checkup.rungs
    assert alone.status == "failed"
    assert "see non-finite" not in alone.next
