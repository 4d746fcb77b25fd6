from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from torch_doctor.trace import AdapterTrained, OptimizerBuilt, Stepped
from torch_doctor_rules.update.adapter_wiring import AdapterWiring

if TYPE_CHECKING:
    from .conftest import Script

OWN, BASE, OPTIMIZER = frozenset((2,)), frozenset((3,)), 4
ADAPTER = "model[0] = LoRALinear(model[0])"
BUILT = "optimizer = AdamW(model.parameters())"


def train(script: Script, *, taken: frozenset[int] = OWN | BASE, **state: Any) -> None:
    """An optimizer steps, and the model with the adapter goes backward in this state."""
    fields = {"optimizer": OPTIMIZER, "modules": taken, "whole": True}
    script.add(OptimizerBuilt, BUILT, class_name="torch.optim.AdamW", name="optimizer", **fields)
    takers = frozenset((OPTIMIZER,)) if taken >= OWN | BASE else frozenset[int]()
    seen = {"own_trains": True, "base_trains": False, "takers": takers, **state}
    for _ in script.loop():
        script.add(AdapterTrained, ADAPTER, adapter=1, class_name="LoRALinear", own=OWN, base=BASE, **seen)
        script.add(Stepped, "optimizer.step()", name="optimizer", **fields)


def test_an_adapter_that_trains_beside_frozen_weights_is_right(script: Script) -> None:
    train(script)
    assert script.found(AdapterWiring) == []


def test_what_is_adapted_is_moved_as_well(script: Script) -> None:
    train(script, base_trains=True)
    assert script.found(AdapterWiring) == [BUILT]


def test_an_optimizer_without_what_is_adapted_leaves_it(script: Script) -> None:
    train(script, base_trains=True, taken=OWN)
    assert script.found(AdapterWiring) == []


@pytest.mark.parametrize("off", ["disabled", "merged", "skipped"])
def test_an_adapter_that_is_off_learns_nothing(script: Script, off: str) -> None:
    train(script, off=off)
    assert script.found(AdapterWiring) == [ADAPTER]


def test_an_adapter_is_frozen_with_all_the_rest(script: Script) -> None:
    train(script, own_trains=False, since=script.at("model.requires_grad_(False)"))
    assert script.found(AdapterWiring) == [ADAPTER]


def test_an_adapter_that_is_frozen_by_itself_is_frozen_on_purpose(script: Script) -> None:
    train(script, own_trains=False)
    assert script.found(AdapterWiring) == []


def test_what_trains_in_another_phase_is_right(script: Script) -> None:
    train(script, base_trains=False)
    train(script, base_trains=True)
    train(script, own_trains=False, since=script.at("model.requires_grad_(False)"))
    assert script.found(AdapterWiring) == []
