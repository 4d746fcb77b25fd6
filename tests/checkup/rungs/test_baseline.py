"""Whether the loss at the beginning is compared with what guessing gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.checkup.conftest import TRAINING, broken, values

if TYPE_CHECKING:
    from tests.checkup.conftest import Climb


def test_an_untrained_model_guesses(climb: Climb) -> None:
    rung = climb(TRAINING, "baseline")
    assert rung.status == "passed"
    assert "guessing gives 1.099 (ln 3)" in rung.reason
    assert values(rung, "loss on zeroed inputs") != values(rung, "loss on the batch")


@pytest.mark.parametrize(
    "changes",
    [
        ["x = torch.randn(256, 10)", "x = torch.randn(256, 10) * 255"],
        ["criterion =", "model[2].weight.data.normal_(0, 40)\ncriterion ="],
    ],
    ids=["raw inputs", "large weights"],
)
def test_a_model_that_is_sure_of_wrong_answers_fails(climb: Climb, changes: list[str]) -> None:
    rung = climb(broken(*changes), "baseline")
    assert rung.status == "failed"
    assert rung.reason.endswith("the model is confident in wrong predictions")


def test_distances_are_only_shown(climb: Climb) -> None:
    script = broken(
        "nn.CrossEntropyLoss()", "nn.MSELoss()", "model(images), labels", "model(images)[:, 0], labels.float()"
    )
    rung = climb(script, "baseline")
    assert rung.status == "shown"
    assert isinstance(values(rung, "loss of the best constant prediction for this batch")[0], float)


def test_a_loss_that_is_not_finite_fails(climb: Climb) -> None:
    rung = climb(broken("loss = criterion", "loss = float('nan') * criterion"), "baseline")
    assert rung.status == "failed"
    assert rung.reason == "the initial loss is nan"


def test_a_loss_that_is_divided_for_accumulation_is_multiplied_again(climb: Climb) -> None:
    step = "if (number + 1) % 4 == 0:\n            optimizer.step()\n            optimizer.zero_grad()"
    script = broken(
        *("for images, labels in train_loader:", "for number, (images, labels) in enumerate(train_loader):"),
        *(
            "optimizer.zero_grad()\n        loss = criterion(model(images), labels)",
            "loss = criterion(model(images), labels) / 4",
        ),
        *("optimizer.step()", step),
    )
    rung = climb(script, "baseline")
    assert rung.status == "passed", rung.reason
    assert values(rung, "forward passes averaged over") == [4]


def test_what_lies_between_the_model_and_the_loss_is_named(climb: Climb) -> None:
    rung = climb(broken("criterion(model(images), labels)", "criterion(model(images).softmax(1), labels)"), "baseline")
    assert rung.status == "shown", rung.reason
    assert "outputs are transformed before the loss" in rung.reason
