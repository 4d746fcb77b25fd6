"""Whether the first value that is not finite is found in its stage."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.checkup.conftest import TRAINING, broken, values
from tests.checkup.rungs.test_repeatability import net

if TYPE_CHECKING:
    from tests.checkup.conftest import Climb

RUNG = "non-finite"


def test_a_good_script_has_none(climb: Climb) -> None:
    rung = climb(TRAINING, RUNG)
    assert rung.status == "passed"
    assert "finite over 21 steps" in rung.reason


@pytest.mark.parametrize(
    ("script", "stage", "said"),
    [
        (broken("y = (x", "x[:, 3] = float('nan')\ny = (x"), "batch", "`batch[0]` of the batch"),
        (net("x = torch.log(x - 1e3)"), "activation", "the output of"),
        (broken("criterion(model(images), labels)", "criterion(model(images), labels) / 0"), "loss", "the loss"),
        (net("x = torch.sqrt(x * 0)"), "gradient", "the gradient of"),
        (
            broken("optimizer.step()", "optimizer.step()\n        model[0].weight.data.mul_(1e30)"),
            "gradient",
            "in step",
        ),
    ],
    ids=["batch", "activation", "loss", "gradient", "later"],
)
def test_the_first_stage_is_named(climb: Climb, script: str, stage: str, said: str) -> None:
    rung = climb(script, RUNG)
    assert rung.status == "failed", rung.reason
    assert said in rung.reason
    assert values(rung, "stage") == [stage]
