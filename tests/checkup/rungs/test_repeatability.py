"""Whether what should be the same again is told from what is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.checkup.conftest import TRAINING, broken, values

if TYPE_CHECKING:
    from tests.checkup.conftest import Climb, Examine

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
    assert [fact.value for fact in rung.evidence if "samples of" not in fact.label] == [0.0] * 5
    assert values(rung, "samples of val_loader that differ when read again") == [0]


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


DROPPING = ["nn.ReLU(), ", "nn.ReLU(), nn.Dropout(0.3), "]
CODES = ("TDR401", "TDR406")
SCORED = """
@torch.no_grad()
def score(net, batches):
    {mode}
    return sum(criterion(net(rows), wanted).item() for rows, wanted in batches)


for epoch"""
IN_A_FUNCTION = [
    *("\nfor epoch", "{scored}"),
    *("    model.eval()\n    with torch.no_grad():\n", "    score(model, val_loader)\n"),
    *("        for images, labels in val_loader:\n            criterion(model(images), labels)\n", ""),
]


def in_a_function(mode: str) -> str:
    return broken(*DROPPING, *IN_A_FUNCTION).replace("{scored}", SCORED.format(mode=mode))


@pytest.mark.parametrize(
    "script",
    [broken(*DROPPING, "    model.eval()\n", ""), in_a_function("pass")],
    ids=["in place", "in a function"],
)
def test_an_evaluation_without_eval_fails(examine: Examine, script: str) -> None:
    rung = examine(script, RUNG, verdicts=True, codes=CODES).checkup.rungs[0]
    assert rung.status == "failed", rung.reason
    assert "for the same batch" in rung.reason
    assert "is evaluated in training mode" in rung.reason
    assert (rung.about, [finding.code for finding in rung.findings]) == (["drops in evaluation"], ["TDR401"])
    assert "training" in [fact.value for fact in rung.evidence if fact.group == "the script's own evaluation"]


def test_an_evaluation_in_the_right_mode_passes(examine: Examine) -> None:
    rung = examine(in_a_function("net.train(False)"), RUNG, verdicts=True, codes=CODES).checkup.rungs[0]
    assert rung.status == "passed", rung.reason
    assert rung.reason.endswith("the script's own evaluation gives the same outputs twice")


def test_monte_carlo_dropout_is_no_failure(examine: Examine) -> None:
    several = "torch.stack([model(images) for _ in range(4)]).mean(0)"
    changes = [*DROPPING, "model.eval()", "model.eval()\n    model[2].train()", "            criterion(model(images)"]
    script = broken(*changes, f"            criterion({several}")
    rung = examine(script, RUNG, verdicts=True, codes=CODES).checkup.rungs[0]
    assert rung.status == "shown", rung.reason
    assert "gives different outputs for the same batch" in rung.reason


ROLLOUTS = """
import torch
from torch import nn

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Dropout(0.1), nn.Linear(32, 2))
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
for episode in range(20):
    seen, chosen, rewards = [], [], []
    for _ in range(16):
        state = torch.randn(4)
        with torch.no_grad():
            action = torch.distributions.Categorical(logits=policy(state)).sample()
        seen.append(state)
        chosen.append(action)
        rewards.append(float((state[0] > 0) == bool(action)))
    gained = torch.tensor(rewards)
    actions = torch.distributions.Categorical(logits=policy(torch.stack(seen)))
    loss = -(actions.log_prob(torch.stack(chosen)) * (gained - gained.mean())).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_an_agent_that_acts_in_training_mode_is_no_failure(examine: Examine) -> None:
    rung = examine(ROLLOUTS, RUNG, verdicts=True, codes=CODES).checkup.rungs[0]
    assert rung.status == "shown", rung.reason


NOISY = """
class Noisy(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        return x[192 + index] + 0.01 * torch.randn(10), y[192 + index]


model = """


def test_random_samples_of_a_validation_set_are_shown(climb: Climb) -> None:
    script = broken("\nmodel = ", NOISY, "DataLoader(TensorDataset(x[192:], y[192:]), batch_size=16)", "None")
    rung = climb(
        broken("nn.CrossEntropyLoss()", "nn.CrossEntropyLoss()\nval_loader = DataLoader(Noisy(), 16)", script=script),
        RUNG,
    )
    assert rung.status == "shown", rung.reason
    assert rung.reason == "the samples of val_loader differ each time they are read, so its score varies"
    assert values(rung, "samples of val_loader that differ when read again") == [8]
    assert rung.about == ["random samples"]
