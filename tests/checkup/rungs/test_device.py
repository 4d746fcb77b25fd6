"""Whether other precision shows numbers that rounding spoils."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.checkup.conftest import TRAINING, broken
from tests.checkup.rungs.test_repeatability import net

if TYPE_CHECKING:
    from tests.checkup.conftest import Climb

LOSS = "loss = criterion(model(images), labels)"
AUTOCAST = [LOSS, f"with torch.autocast('cpu', dtype=torch.bfloat16):\n            {LOSS}"]


def test_a_good_model_answers_the_same_in_float64(climb: Climb) -> None:
    rung = climb(TRAINING, "device")
    assert rung.status == "passed", rung.reason
    assert {fact.label.partition(",")[0] for fact in rung.evidence} >= {"outputs", "loss", "gradients"}
    offered = {fact.label: fact.value for fact in rung.evidence if "not used by the script" in fact.group}
    assert 0 < float(offered["loss"] or 0) < 0.2
    assert float(offered["predicted classes that are the same"] or 0) > 80


def test_the_autocast_of_the_script_is_compared(climb: Climb) -> None:
    rung = climb(broken(*AUTOCAST), "device")
    assert rung.status == "passed", rung.reason
    assert "autocast to bfloat16 against float32" in rung.reason


@pytest.mark.parametrize(
    "script",
    [
        net("x = (x + 1e6) ** 2 - x ** 2 - 1e12"),
        broken(*AUTOCAST, script=net("x = (x + 1000) - 1000")),
    ],
    ids=["cancellation", "bfloat16"],
)
def test_numbers_that_rounding_spoils_fail(climb: Climb, script: str) -> None:
    rung = climb(script, "device")
    assert rung.status == "failed", rung.reason


def test_a_model_that_draws_random_numbers_is_not_compared(climb: Climb) -> None:
    rung = climb(net("x = x + torch.randn_like(x)"), "device")
    assert rung.status == "skipped", rung.reason
    assert "draws random numbers" in rung.reason


COMPILED = ["optimizer = ", "model = torch.compile(model)\noptimizer = "]


def test_what_the_script_compiles_is_compared_with_what_it_wrote(climb: Climb) -> None:
    rung = climb(broken(*COMPILED), "device")
    assert rung.status == "passed", rung.reason
    assert "torch.compile (aot_eager, without generated code) against eager" in rung.reason
    assert {fact.label.partition(",")[0] for fact in rung.evidence if "compile" in fact.group} == {
        "outputs",
        "loss",
        "gradients",
    }


def test_a_part_of_the_model_that_answers_otherwise_when_it_is_compiled_fails(climb: Climb) -> None:
    script = net("x = x * 2 if torch.compiler.is_compiling() else x")
    rung = climb(broken("optimizer = ", "model.compile()\noptimizer = ", script=script), "device")
    assert rung.status == "failed", rung.reason
    assert "torch.compile" in rung.reason
