from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from torch_doctor.trace import BatchTaken
from torch_doctor_rules.update.update_in_evaluation import UpdateInEvaluation

if TYPE_CHECKING:
    from .conftest import Script


def passes(script: Script, *, evaluates: bool = True, loader: int = 2, steps: str = "same") -> None:
    """A training pass over loader 1, and another one after it."""
    model = script.model()
    optimizer, fast = script.optimizer(model), script.optimizer(model, name="fast")
    script.mode(model, "model.train()")
    for _ in script.loop("for x, y in train_loader"):
        script.add(BatchTaken, "x, y", loader=1, name="train_loader")
        script.backward(of=[script.forward(model, "out = model(x)")])
        script.step(optimizer)
    if evaluates:
        script.mode(model, "model.eval()")
    for _ in script.loop("for x, y in val_loader"):
        script.add(BatchTaken, "x, y again", loader=loader, name="val_loader")
        again = script.forward(model, "scores = model(x)", training=not evaluates)
        if steps != "alone":
            script.backward(of=[again], text="val_loss.backward()")
        if steps in ("same", "alone"):
            script.step(optimizer, "again.step()")
        elif steps == "other":
            script.step(fast, "fast.step()")


def test_an_update_after_eval_on_other_data_is_reported_at_its_backward(script: Script) -> None:
    passes(script)
    assert script.found(UpdateInEvaluation) == ["val_loss.backward()"]


def test_a_step_without_gradients_of_its_own_is_reported_itself(script: Script) -> None:
    passes(script, steps="alone")
    assert script.found(UpdateInEvaluation) == ["again.step()"]


@pytest.mark.parametrize("steps", ["none", "other"])
def test_gradients_that_the_optimizer_does_not_apply_are_right(script: Script, steps: str) -> None:
    passes(script, steps=steps)
    assert script.found(UpdateInEvaluation) == []


def test_without_eval_it_is_training(script: Script) -> None:
    passes(script, evaluates=False)
    assert script.found(UpdateInEvaluation) == []


def test_the_same_data_is_trained_on_with_fixed_norms(script: Script) -> None:
    passes(script, loader=1)
    assert script.found(UpdateInEvaluation) == []
