from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace import AdapterTrained, FrozenStepped, OptimizerBuilt
from torch_doctor_rules.update.parameter_never_updated import ParameterNeverUpdated

if TYPE_CHECKING:
    from .conftest import Script

BUILT = "optimizer = SGD(head.parameters())"
FREEZING = "model.requires_grad_(False)"


def build(script: Script) -> None:
    script.add(
        OptimizerBuilt,
        BUILT,
        optimizer=4,
        class_name="torch.optim.SGD",
        name="optimizer",
        modules=frozenset((2,)),
        whole=True,
    )


def step(script: Script, *, frozen: bool = True) -> None:
    script.add(FrozenStepped, "optimizer.step()", optimizer=4, frozen=frozen, since=script.at(FREEZING))


def test_what_is_frozen_after_the_optimizer_took_it_is_reported_at_the_freezing(script: Script) -> None:
    build(script)
    step(script)
    assert script.found(ParameterNeverUpdated) == [FREEZING]


def test_what_was_frozen_before_is_reported_where_the_optimizer_takes_it(script: Script) -> None:
    script.at(FREEZING)
    build(script)
    step(script)
    assert script.found(ParameterNeverUpdated) == [BUILT]


def test_what_trains_again_later_is_right(script: Script) -> None:
    build(script)
    step(script)
    step(script, frozen=False)
    assert script.found(ParameterNeverUpdated) == []


def test_of_a_frozen_adapter_another_rule_speaks(script: Script) -> None:
    build(script)
    step(script)
    own, base = frozenset((2,)), frozenset((3,))
    state = {"own_trains": False, "base_trains": False}
    script.add(AdapterTrained, "LoRALinear(layer)", adapter=1, class_name="LoRALinear", own=own, base=base, **state)
    assert script.found(ParameterNeverUpdated) == []
