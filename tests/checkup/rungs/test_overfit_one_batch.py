"""Whether memorising one batch tells scripts that learn from those that cannot."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from tests.checkup.conftest import TRAINING, broken, values

if TYPE_CHECKING:
    from tests.checkup.conftest import Climb, Examine

RUNG = "overfit-one-batch"
SLOW = "optim.SGD(model.parameters(), lr=1e-17)"
NOISE = "criterion(model(images[:, :1].repeat(1, 10)).flatten(), torch.sin(images[:, 3] * 99))\n        loss.b"


def test_a_good_script_memorises_its_batch(climb: Climb) -> None:
    rung = climb(TRAINING, RUNG)
    assert rung.status == "passed"
    assert rung.reason.endswith("the batch is memorized")
    assert rung.plots[0].series[0].y[0] > rung.plots[0].series[0].y[-1]  # type: ignore[operator]
    assert values(rung, "parameters in the optimizer") == values(rung, "parameters of the model") == [451]


@pytest.mark.parametrize(
    ("changes", "then"),
    [
        (
            ["criterion(model(images), labels)", "criterion(model(images).detach().requires_grad_(), labels)"],
            "no gradient",
        ),
        (["model.parameters()", "nn.Linear(2, 2).parameters()"], "are not passed to the optimizer"),
        (
            ["nn.Linear(32, 3))", "nn.Linear(32, 3))\nfor p in model.parameters():\n    p.data.zero_()"],
            "zero gradients",
        ),
    ],
    ids=["detached", "another model's parameters", "zeros"],
)
def test_a_step_that_cannot_learn_fails(climb: Climb, changes: list[str], then: str) -> None:
    rung = climb(broken(*changes), RUNG, seconds=30)
    assert rung.status == "failed", rung.reason
    assert "it does not decrease" in rung.reason or "nothing is learned from the input" in rung.reason
    assert then in rung.next


def test_a_rate_that_is_too_high_fails(climb: Climb) -> None:
    rung = climb(broken("optim.Adam(model.parameters(), lr=0.01)", "optim.SGD(model.parameters(), lr=30.0)"), RUNG)
    assert rung.status == "failed", rung.reason
    assert rung.reason.endswith("the learning rate is too high")


def test_a_rate_that_is_low_is_no_failure(climb: Climb) -> None:
    rung = climb(broken("optim.Adam(model.parameters(), lr=0.01)", "optim.SGD(model.parameters(), lr=1e-4)"), RUNG)
    assert rung.status == "shown", rung.reason


@pytest.mark.parametrize(
    "changes",
    [
        ["nn.ReLU()", "nn.ReLU(), nn.Dropout(0.3)"],
        ["nn.CrossEntropyLoss()", "nn.CrossEntropyLoss(label_smoothing=0.1)"],
        ["lr=0.01)", "lr=0.01)\nschedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: step / 1000)"],
        [
            "for images, labels in train",
            "for number, (images, labels) in enumerate(train",
            "_loader:\n        optim",
            "_loader):\n        optim",
        ],
    ],
    ids=["dropout", "label smoothing", "warm-up", "enumerate"],
)
def test_what_is_right_does_not_fail(climb: Climb, changes: list[str]) -> None:
    assert climb(broken(*changes), RUNG).status == "passed"


def test_targets_that_are_noise_are_memorised_too(climb: Climb) -> None:
    rung = climb(broken("y = (x[:, 0] > 0).long() + (x[:, 1] > 0).long()", "y = torch.randint(0, 3, (256,))"), RUNG)
    assert rung.status == "passed"


def test_probabilities_cannot_be_memorised(climb: Climb) -> None:
    rung = climb(broken("nn.Linear(32, 3))", "nn.Linear(32, 3), nn.Softmax(dim=1))"), RUNG)
    assert rung.status == "failed", rung.reason
    assert "its inputs are probabilities, so it cannot go below 0.5514" in rung.reason
    assert rung.next == "remove the softmax: this loss expects logits"


def test_a_loss_that_may_be_negative_is_only_shown(climb: Climb) -> None:
    score = "-(torch.log_softmax(model(images), 1).gather(1, labels[:, None]) * torch.randn(len(images), 1)).mean()"
    rung = climb(broken("criterion(model(images), labels)\n        loss.b", f"{score}\n        loss.b"), RUNG)
    assert rung.status == "shown", rung.reason


def test_a_model_that_is_too_small_is_no_failure(climb: Climb) -> None:
    script = broken(
        *("nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 3))", "nn.Linear(10, 1)"),
        *("nn.CrossEntropyLoss()", "nn.MSELoss()", "criterion(model(images), labels)\n        loss.b", NOISE),
        *("lr=0.01", "lr=0.001"),
    )
    rung = climb(script, RUNG)
    assert rung.status == "shown", rung.reason


ONE_LABEL = ["x[:192], y[:192])", "x[:192], y[:192].sort().values)", "shuffle=True", "shuffle=False"]
SURE = "nn.Linear(32, 3))\nmodel[2].bias.data[:] = torch.tensor([300.0, 0.0, 0.0])"


@pytest.mark.parametrize("changes", [[], ["nn.Linear(32, 3))", SURE]], ids=["learned", "known from the start"])
def test_a_batch_with_one_label_says_nothing_of_what_is_memorised(climb: Climb, changes: list[str]) -> None:
    rung = climb(broken(*ONE_LABEL, *changes), RUNG)
    assert rung.status == "shown", rung.reason
    assert "negative" not in rung.reason
    assert "no use of the input" in rung.reason or "cannot decrease" in rung.reason


def test_the_loss_at_the_first_update_is_that_of_the_weights_that_the_script_begins_with(examine: Examine) -> None:
    first, memorised = examine(broken("lr=0.01", "lr=1.0"), "baseline", RUNG).checkup.rungs
    assert values(first, "initial loss")[0] == pytest.approx(values(memorised, "first loss")[0])


@pytest.mark.parametrize("optimizer", ["Adagrad", "LBFGS", "Rprop"])
def test_optimizers_begin_anew_with_what_they_were_given(examine: Examine, optimizer: str) -> None:
    closure = "optimizer.step()" if optimizer != "LBFGS" else "optimizer.step(lambda: loss)"
    script = broken("optim.Adam(", f"optim.{optimizer}(", "optimizer.step()", closure)
    rungs = examine(script, RUNG, "non-finite", "receipt").checkup.rungs
    assert not [each.reason for each in rungs if each.status == "skipped"]
    assert values(rungs[-1], "optimizers not restored after the checkup") == [0]


def test_a_loss_far_above_that_of_a_constant_prediction_fails_though_it_falls(climb: Climb) -> None:
    too_large = broken(
        "torch.randn(256, 10)", "torch.randn(256, 10) * 1e9", "optim.Adam(model.parameters(), lr=0.01)", SLOW
    )
    rung = climb(too_large, RUNG)
    assert rung.status == "failed", rung.reason
    assert rung.reason.endswith("a constant prediction reaches 1.099")


def test_a_batch_that_is_learned_in_part_is_not_passed(climb: Climb) -> None:
    rung = climb(
        broken(
            "images), labels)\n        loss.b", "images[:, 2:].repeat(1, 2)[:, :10] * 0.3), labels)\n        loss.b"
        ),
        RUNG,
    )
    (right,) = values(rung, "classified correctly")
    assert isinstance(right, int)
    assert (rung.status == "passed") == (right == 16 and "is memorized" in rung.reason)
    named = [text for plot in rung.plots if plot.title == "Samples that do not fit" for text in plot.texts]
    assert len(named) == (min(12, 16 - right) if rung.status != "passed" else 0)
    assert right == 16 or f"{16 - right} of 16 samples are still classified wrong" in rung.reason


def test_equal_inputs_with_several_labels_raise_the_lowest_loss(climb: Climb) -> None:
    doubled = broken("y = (x[:, 0] > 0)", "x[1::2] = x[::2]\ny = (x[:, 0] > 0)", "shuffle=True", "shuffle=False")
    doubled = doubled.replace("\ntrain_loader", "\ny[1:16:8] = (y[1:16:8] + 1) % 3\ntrain_loader")
    rung = climb(doubled.replace("lr=0.01", "lr=0.03"), RUNG)
    assert rung.status == "passed", rung.reason
    (floor,) = values(rung, "lowest possible loss")
    assert floor == pytest.approx(4 / 16 * math.log(2))
    assert values(rung, "inputs of the batch with several targets") == [2]
    assert values(rung, "classified correctly") == [14]
    assert "2 inputs of the batch have several targets, so the loss cannot go below 0.1733" in rung.reason


def test_updates_that_are_lost_to_rounding_are_called_too_small(climb: Climb) -> None:
    rung = climb(broken("optim.Adam(model.parameters(), lr=0.01)", "optim.SGD(model.parameters(), lr=1e-8)"), RUNG)
    assert rung.status == "failed", rung.reason
    assert "the learning rate 1e-08 is too low; with 1e+0" in rung.reason
    assert "get gradients and change" not in rung.reason


def test_outputs_that_do_not_depend_on_the_input_fail(climb: Climb) -> None:
    rung = climb(broken("model(images), labels)\n        loss.b", "model(images * 0), labels)\n        loss.b"), RUNG)
    assert rung.status == "failed", rung.reason
    assert "do not depend on the input" in rung.reason or "nothing is learned from the input" in rung.reason


def test_what_a_failed_rung_makes_meaningless_is_skipped(examine: Examine) -> None:
    script = broken("criterion(model(images), labels)", "criterion(model(images).detach().requires_grad_(), labels)")
    rungs = {rung.name: rung for rung in examine(script, RUNG, "small-subset", "receipt").checkup.rungs}
    assert rungs["small-subset"].status == "skipped"
    assert rungs["small-subset"].reason == "not meaningful until overfit-one-batch passes (--all runs it anyway)"
    assert rungs["receipt"].status != "skipped"


def test_a_handful_of_samples_is_memorized_alone(examine: Examine) -> None:
    rungs = examine(TRAINING, "baseline", "overfit-one-batch", "receipt", examples=4).checkup.rungs
    rung = rungs[1]
    assert rung.status == "passed"
    assert "on 4 samples of one batch; 4 of 4 samples are classified correctly" in rung.reason
    assert next(each.value for each in rung.evidence if each.label == "samples") == 4
    changed = [each for each in rungs[2].evidence if "restored" in each.label]
    assert rungs[2].status != "failed", changed


def test_a_loop_that_reads_ahead_trains_on_the_handful_as_well(examine: Examine) -> None:
    ahead = broken(
        "for images, labels in train_loader:", "for images, labels in ahead(train_loader):",
        "for epoch", "def ahead(loader):\n    held = None\n    for batch in loader:\n        if held is not None:\n"
        "            yield held\n        held = batch\n    yield held\n\n\nfor epoch",
    )  # fmt: skip
    rung = examine(ahead, "overfit-one-batch", examples=4).checkup.rungs[0]
    assert rung.status == "passed"
    assert "4 of 4 samples are classified correctly" in rung.reason


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("DataLoader([{'x': a, 'y': b} for a, b in zip(x[:192], y[:192])]", "it is a dict"),
        ("DataLoader(TensorDataset(x[:192], y[:192])", "is more than the"),
    ],
)
def test_what_cannot_be_narrowed_says_so(examine: Examine, change: str, why: str) -> None:
    script = broken("DataLoader(TensorDataset(x[:192], y[:192])", change)
    if "dict" in why:
        parts = "for batch in train_loader:\n        images, labels = batch['x'], batch['y']"
        script = broken("for images, labels in train_loader:", parts, script=script)
    rung = examine(script, "overfit-one-batch", examples=4 if "dict" in why else 500).checkup.rungs[0]
    assert (rung.status, why in rung.reason) == ("skipped", True)
