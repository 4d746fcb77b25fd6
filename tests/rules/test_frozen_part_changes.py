from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from torch_doctor.trace import Forward, FrozenMoved, FrozenNormsRan, GaveUp, WeightsGiven
from torch_doctor_rules.update.frozen_part_changes import FrozenPartChanges

if TYPE_CHECKING:
    from .conftest import Script

FORWARD = "model(x)"
PARTS = frozenset((11, 12))


def ran(script: Script, forward: Forward, *, thawed: bool = False) -> None:
    since = script.at("backbone.requires_grad_(False)")
    fields = {"forward": forward.index, "module": forward.module, "parts": PARTS, "thawed": thawed}
    script.add(FrozenNormsRan, FORWARD, since=since, norms=1, **fields)


def epoch(script: Script, *, thawed: bool = False, backward: bool = True, averages: bool = False) -> None:
    """Frozen batch norm runs in each batch, and perhaps its loss goes backward."""
    model = script.model()
    optimizer = script.optimizer(model)
    for _ in script.loop():
        forward = script.forward(model, FORWARD)
        ran(script, forward, thawed=thawed)
        if backward:
            script.backward(model, of=(forward,))
            script.step(optimizer)
        if averages:
            script.add(WeightsGiven, "old.mul_(0.9)", modules=PARTS)


def test_frozen_statistics_that_change_in_training_are_reported_at_the_forward(script: Script) -> None:
    epoch(script)
    assert script.found(FrozenPartChanges) == [FORWARD]


def test_what_is_unfrozen_later_is_frozen_for_a_phase(script: Script) -> None:
    epoch(script, thawed=True)
    assert script.found(FrozenPartChanges) == []


def test_statistics_are_renewed_without_a_loss_on_purpose(script: Script) -> None:
    epoch(script, backward=False)
    assert script.found(FrozenPartChanges) == []


def test_what_the_script_moves_itself_is_not_meant_to_stay(script: Script) -> None:
    epoch(script, averages=True)
    assert script.found(FrozenPartChanges) == []


@pytest.mark.parametrize(("zeroed", "found"), [(False, ["optimizer = SGD(2)"]), (True, [])])
def test_a_gradient_of_zeros_moves_nothing_without_momentum(script: Script, *, zeroed: bool, found: list[str]) -> None:
    optimizer = script.optimizer(script.model())
    script.add(FrozenMoved, "optimizer.step()", optimizer=optimizer, zeroed=zeroed)
    assert script.found(FrozenPartChanges) == found


def test_what_may_thaw_behind_the_end_of_a_run_that_was_cut_short_is_not_reported(script: Script) -> None:
    epoch(script)
    assert script.found(FrozenPartChanges)
    script.add(GaveUp, FORWARD, reason="the file exceeds the step limit")
    assert script.found(FrozenPartChanges) == []
