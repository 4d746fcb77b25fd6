from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from torch_doctor_rules.update.non_scalar_backward import NonScalarBackward

if TYPE_CHECKING:
    from torch_doctor.trace import Backward, Tri

    from .conftest import Script


def backward(script: Script, *, scalar: Tri, weighted: Tri = False, through: str = "backward") -> Backward:
    model = script.model()
    event = script.backward(model, of=[script.forward(model)])
    loss = replace(event.loss, scalar=scalar)
    return script.trace.replace(event, loss=loss, weighted=weighted, through=through)


def test_a_loss_with_a_number_for_every_sample_is_reported(script: Script) -> None:
    event = backward(script, scalar=False)
    [finding] = script.findings(NonScalarBackward)
    assert finding.site == event.site
    assert "has one value per sample" in finding.message


@pytest.mark.parametrize("scalar", [True, None])
def test_a_loss_that_may_be_reduced_is_right(script: Script, *, scalar: Tri) -> None:
    backward(script, scalar=scalar)
    assert script.found(NonScalarBackward) == []


@pytest.mark.parametrize("weighted", [True, None])
def test_a_gradient_that_may_be_given_is_right(script: Script, *, weighted: Tri) -> None:
    backward(script, scalar=False, weighted=weighted)
    assert script.found(NonScalarBackward) == []


def test_gradients_that_are_asked_for_by_hand_are_left_alone(script: Script) -> None:
    backward(script, scalar=False, through="autograd.grad")
    assert script.found(NonScalarBackward) == []
