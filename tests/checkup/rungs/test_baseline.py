"""Whether the loss at the beginning is compared with what guessing gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.checkup.conftest import TRAINING, broken, values

if TYPE_CHECKING:
    import torch

    from tests.checkup.conftest import Climb


def labels_of(script: str) -> torch.Tensor:
    """The labels that the script creates, as floating-point numbers."""
    space: dict[str, torch.Tensor] = {}
    exec(compile(script.partition("train_loader =")[0], "train.py", "exec"), space)  # noqa: S102 - the lines are to be run
    return space["y"].float()


def test_an_untrained_model_guesses(climb: Climb) -> None:
    rung = climb(TRAINING, "baseline")
    assert rung.status == "passed"
    assert "guessing gives 1.099 (ln 3)" in rung.reason
    assert values(rung, "loss on zeroed inputs") != values(rung, "loss on the batch")


def test_a_trained_model_beats_the_majority_class(climb: Climb) -> None:
    rung = climb(TRAINING, "baseline")
    majority = float((labels_of(TRAINING)[192:] == 1).float().mean())
    assert values(rung, "accuracy of always answering class 1") == [pytest.approx(majority)]
    on_validation, on_training = values(rung, "accuracy")
    assert f"always answering class 1 gets {majority:.3g}; lowest recall" in rung.reason
    assert isinstance(on_validation, float)
    assert isinstance(on_training, float)
    assert majority < on_validation <= on_training
    assert len(values(rung, "recall")) == len(values(rung, "F1")) == 3
    bars = rung.plots[1].series[0]
    assert bars.y[2] == on_validation


RARE = [
    *("y = (x[:, 0] > 0).long() + (x[:, 1] > 0).long()", "y = (torch.rand(256) < 0.1).long()"),
    *("nn.Linear(32, 3)", "nn.Linear(32, 2)"),
]


def test_a_model_that_does_not_beat_the_majority_class_is_shown_beside_it(climb: Climb) -> None:
    rung = climb(broken(*RARE), "baseline")
    assert rung.status == "shown", rung.reason
    assert "always answering class 0 gets 0.938: the model is no better than that; lowest recall 0" in rung.reason
    (balanced,) = values(rung, "balanced accuracy")
    assert f"class 0 is 94% of val_loader, so measure balanced accuracy ({balanced:.3g}), F1 (0 " in rung.reason
    (auroc,) = values(rung, "AUROC")
    assert isinstance(auroc, float)
    assert f"and AUROC ({auroc:.3f}" in rung.reason


def test_without_validation_the_training_set_is_scored(climb: Climb) -> None:
    start, end = TRAINING.index("    model.eval()"), TRAINING.index("val_loader =")
    script = TRAINING[:start].replace(TRAINING[end : TRAINING.index("model = nn")], "")
    rung = climb(script, "baseline")
    assert rung.status == "passed", rung.reason
    assert "accuracy on train_loader (no validation set could be read) 0." in rung.reason


def test_a_model_that_gets_worse_than_a_constant_fails(climb: Climb) -> None:
    rung = climb(broken("lr=0.01", "lr=0.01, maximize=True"), "baseline")
    assert rung.status == "failed", rung.reason
    assert "on train_loader it is worse than a constant answer, and the training loss does not fall" in rung.reason


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
    assert "the model is confident in wrong predictions" in rung.reason


def test_numbers_are_compared_with_their_mean(climb: Climb) -> None:
    script = broken(
        "nn.CrossEntropyLoss()", "nn.MSELoss()", "model(images), labels", "model(images)[:, 0], labels.float()"
    )
    rung = climb(script, "baseline")
    assert rung.status == "passed", rung.reason
    assert "after 200 optimizer steps; predicting the training mean gets " in rung.reason
    assert isinstance(values(rung, "loss of the best constant prediction for this batch")[0], float)
    (mean,) = values(rung, "mean squared error of predicting the training mean")
    y = labels_of(TRAINING)
    assert mean == pytest.approx(float((y[192:] - y[:192].mean()).square().mean()), rel=1e-4)
    (explained,) = values(rung, "R²")
    assert isinstance(explained, float)
    assert 0.3 < explained < 1


def test_a_loss_that_is_not_finite_fails(climb: Climb) -> None:
    rung = climb(broken("loss = criterion", "loss = float('nan') * criterion"), "baseline")
    assert rung.status == "failed"
    assert rung.reason.startswith("the initial loss is nan")


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
