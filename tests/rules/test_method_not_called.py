from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from torch_doctor_rules.update.method_not_called import MethodNotCalled

if TYPE_CHECKING:
    from .conftest import Script


@pytest.mark.parametrize(
    ("name", "of", "consequence"),
    [
        ("optimizer.step", "optimizer", "no parameter is updated"),
        ("optimizer.zero_grad", "optimizer", "gradients accumulate over all batches"),
        ("loss.backward", "tensor", "no gradient is computed"),
        ("model.eval", "module", "the model stays in training mode"),
        ("model.train", "module", "the model stays in evaluation mode"),
        ("scheduler.step", "scheduler", "the learning rate never changes"),
        ("scaler.update", "scaler", "the loss scale never adapts"),
        ("torch.no_grad", "torch", "the block runs without it, or fails"),
    ],
)
def test_the_consequence_is_named(script: Script, name: str, of: str, consequence: str) -> None:
    for _ in script.loop():
        script.not_called(name, of)
    [finding] = script.findings(MethodNotCalled)
    assert finding.message == f"`{name}` is missing its parentheses: {consequence}"
    assert finding.help == "add the parentheses"
    assert script.found(MethodNotCalled) == [name]


@pytest.mark.parametrize(
    ("name", "of"), [("loss.item", "tensor"), ("model.cuda", "module"), ("torch.float32", "torch")]
)
def test_other_names_are_silent(script: Script, name: str, of: str) -> None:
    script.not_called(name, of)
    assert script.found(MethodNotCalled) == []


def test_long_names_are_cut_so_that_the_message_stays_short(script: Script) -> None:
    script.not_called(
        "self.experiments[current_experiment_name].generator_optimizer_with_warmup.zero_grad", "optimizer"
    )
    [finding] = script.findings(MethodNotCalled)
    assert len(finding.message) == 100
    assert finding.message.endswith("zero_grad` is missing its parentheses: gradients accumulate over all batches")
