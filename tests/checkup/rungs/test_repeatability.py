"""Whether what should be the same again is told from what is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.checkup.conftest import TRAINING, broken, values

if TYPE_CHECKING:
    from tests.checkup.conftest import Climb

RUNG = "repeatability"
NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(10, 32), nn.Linear(32, 3)
        {init}

    def forward(self, x):
        x = torch.relu(self.first(x))
        {forward}
        return self.last(x)


model = Net()
"""
MODEL = "model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 3))\n"


def net(forward: str, init: str = "pass") -> str:
    return broken(MODEL, NET.format(init=init, forward=forward))


def test_a_good_script_repeats_itself(climb: Climb) -> None:
    rung = climb(TRAINING, RUNG)
    assert rung.status == "passed", rung.reason
    assert [fact.value for fact in rung.evidence] == [0.0] * 5


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (net("x = nn.functional.dropout(x, 0.5)"), "dropout is active in evaluation mode"),
        (net("x = torch.softmax(x, dim=0)"), "depends on the other samples"),
        (net("x = x - x.mean(0)"), "depends on the other samples"),
        (
            net("x = x * self.scale\n        self.scale = self.scale * 1.1", "self.scale = torch.ones(1)"),
            "the reloaded model gives different outputs",
        ),
    ],
    ids=["functional dropout", "softmax over rows", "mean over rows", "state beside the state"],
)
def test_what_is_not_the_same_again_fails(climb: Climb, script: str, said: str) -> None:
    rung = climb(script, RUNG)
    assert rung.status == "failed", rung.reason
    assert said in rung.reason


@pytest.mark.parametrize(
    "script",
    [
        net("x = nn.functional.dropout(x, 0.5, self.training)"),
        net("x = torch.softmax(x, dim=1)"),
        net("x = self.norm(x)", "self.norm = nn.BatchNorm1d(32)"),
        net("x = x * self.scale", "self.register_buffer('scale', torch.ones(1))"),
    ],
    ids=["dropout", "softmax", "batch norm", "buffer"],
)
def test_what_is_right_passes(climb: Climb, script: str) -> None:
    rung = climb(script, RUNG)
    assert rung.status == "passed", rung.reason


def test_a_model_that_samples_is_no_failure(climb: Climb) -> None:
    rung = climb(net("x = x + torch.randn_like(x) * 0.1"), RUNG)
    assert rung.status == "shown", rung.reason
    assert values(rung, "evaluated twice") != [0.0]


def test_dropout_in_a_function_that_a_copy_shares_is_off_in_an_evaluation(climb: Climb) -> None:
    shared = "self.drop = nn.Dropout(0.5)\n        self.mix = lambda x: self.drop(x)"
    rung = climb(net("x = self.mix(x)", shared), RUNG)
    assert rung.status == "passed", rung.reason
