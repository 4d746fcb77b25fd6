"""`trace --gradients`: who fills, applies and clears gradients, next to the source, and in a run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Run = Any  # arguments to outcome

TWO_MODELS = """\
import torch
from torch import nn

generator, critic = nn.Linear(4, 4), nn.Linear(4, 1)
first = torch.optim.Adam(generator.parameters())
second = torch.optim.Adam(critic.parameters())
for step in range(20):
    fake = generator(torch.randn(8, 4))
    second.zero_grad()
    scores = critic(fake.detach()).mean()
    scores.backward()
    second.step()
    first.zero_grad()
    fooled = -critic(fake).mean()
    fooled.backward()
    first.step()
"""
WINDOWS = """\
import torch
from torch import nn

model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for number in range(12):
    loss = model(torch.randn(8, 4)).mean() / 3
    loss.backward()
    if (number + 1) % 3 == 0:
        optimizer.step()
        optimizer.zero_grad()
"""
LATER = """\
import torch
from torch import nn

actor, critic = nn.Linear(4, 1), nn.Linear(5, 1)
first = torch.optim.Adam(actor.parameters())
second = torch.optim.Adam(critic.parameters())
for step in range(200):
    state = torch.randn(8, 4)
    if step > 100:
        value = critic(torch.cat([state, torch.rand(8, 1)], 1)).square().mean()
        second.zero_grad()
        value.backward()
        second.step()
        if step % 2 == 0:
            wish = -critic(torch.cat([state, actor(state)], 1)).mean()
            first.zero_grad()
            wish.backward()
            first.step()
"""
LOST = """\
import torch
from torch import nn

model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for number in range(12):
    loss = model(torch.randn(8, 4)).mean()
    loss.backward()
    optimizer.zero_grad()
    optimizer.step()
"""
FROZEN = """\
import sys

import torch
from torch import nn


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.score = nn.Linear(4, 1)

    def forward(self, x):
        return self.score(x)


class Large(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 8)
        self.score = nn.Linear(8, 1)

    def forward(self, x):
        return self.score(self.body(x).relu())


def trains(model, flag):
    for parameter in model.parameters():
        parameter.requires_grad = flag


generator, critic = nn.Linear(4, 4), CRITIC
first = torch.optim.Adam(generator.parameters())
second = torch.optim.Adam(critic.parameters())
for step in range(20):
    trains(critic, True)
    critic.zero_grad()
    scores = critic(generator(torch.randn(8, 4)).detach()).mean()
    scores.backward()
    second.step()
    trains(critic, False)
    generator.zero_grad()
    fooled = -critic(generator(torch.randn(8, 4))).mean()
    fooled.backward()
    first.step()
"""
EITHER = "generator = nn.Linear(4, 4)\nif sys.argv[1:]:\n    critic = Small()\nelse:\n    critic = Large()"
LEARNER = """\
import torch
from torch import nn


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))

    def forward(self, state):
        return self.body(state)

    def evaluate(self, state):
        mean = self.forward(state)
        return mean, mean.square().sum(1)


class Agent:
    def __init__(self):
        self.policy = Policy()
        self.optimizer = torch.optim.Adam(self.policy.parameters())
        self.log_alpha = torch.zeros(1, requires_grad=True)
        self.alpha_optimizer = torch.optim.Adam([self.log_alpha])

    def learn(self, state):
        action, cost = self.policy.evaluate(state)
        wish = (self.log_alpha.exp() * cost - action.sum(1)).mean()
        self.optimizer.zero_grad()
        wish.backward()
        self.optimizer.step()


agent = Agent()
for step in range(5):
    agent.learn(torch.randn(8, 4))
    agent.alpha_optimizer.zero_grad()
    agent.alpha_optimizer.step()
"""
UNKNOWN = """\
import torch
from torch import nn

from elsewhere import build

def train(critic, generator, second, first):
    for step in range(20):
        scores = critic(torch.randn(8, 4)).mean()
        second.zero_grad()
        scores.backward()
        second.step()
        wish = generator(torch.randn(8, 4)).mean()
        first.zero_grad()
        wish.backward()
        first.step()
"""


def notes(run: Run, *arguments: str) -> list[str]:
    """What stands beside the source."""
    outcome = run("trace", "--gradients", *arguments)
    assert outcome.status == 0, outcome.err
    return [row.rpartition("  ")[2].strip() for row in outcome.out.splitlines()[1:]]


def test_a_loss_fills_the_gradients_of_each_model_that_it_reaches(run: Run, write: Callable[..., Path]) -> None:
    write("train.py", TWO_MODELS)
    assert notes(run, "train.py") == [
        "clears `critic`",
        "`scores` fills the gradients of `critic`",
        "`second` applies `scores` (line 11) to `critic`",
        "clears `generator`",
        "`fooled` fills the gradients of `generator`, `critic`",
        "`first` applies `fooled` (line 15) to `generator`",
    ]


def test_a_step_applies_nothing_that_was_cleared_behind_the_same_test(run: Run, write: Callable[..., Path]) -> None:
    write("train.py", LATER)
    found = notes(run, "train.py")
    assert [note for note in found if note.startswith("`second` applies")] == [
        "`second` applies `value` (line 12) to `critic`"
    ]
    assert [note for note in found if note.startswith("`first` applies")] == [
        "`first` applies `wish` (line 17) to `actor`"
    ]


def test_a_run_counts_the_passes_of_a_step_and_measures_gradients(run: Run, write: Callable[..., Path]) -> None:
    write("train.py", WINDOWS)
    found = notes(run, "train.py", "--probe")
    assert "run: `optimizer` applies 3 passes of `loss` (line 8) to `model`" in found
    assert any(note.startswith("run: gradient norm 0.") for note in found)


def test_a_run_tells_passes_that_no_step_applied(run: Run, write: Callable[..., Path]) -> None:
    write("train.py", LOST)
    found = notes(run, "train.py", "--probe")
    assert "run: clears `model`; 1 pass (line 8) that no step applied" in found
    assert "run: `optimizer` has no gradients to apply" in found


def test_what_is_frozen_gets_no_gradients(run: Run, write: Callable[..., Path]) -> None:
    write("train.py", FROZEN.replace("CRITIC", "Large()"))
    assert "`fooled` fills the gradients of `generator`" in notes(run, "train.py")


def test_each_of_two_models_is_cleared_and_frozen(run: Run, write: Callable[..., Path]) -> None:
    write("train.py", FROZEN.replace("generator, critic = nn.Linear(4, 4), CRITIC", EITHER))
    found = notes(run, "train.py")
    assert "`fooled` fills the gradients of `generator`" in found
    steps = [note for note in found if note.startswith("`second` applies")]
    assert [note.partition(" to ")[0] for note in steps] == ["`second` applies `scores` (line 42)"]


def test_models_and_tensors_have_the_names_that_they_have_outside(run: Run, write: Callable[..., Path]) -> None:
    write("train.py", LEARNER)
    found = notes(run, "train.py", "--probe")
    reached = "`wish` fills the gradients of a tensor of `agent.alpha_optimizer`"
    assert [note for note in found if reached in note] == [f"{reached}, Policy"]
    assert not any("`self`" in note or "`self.forward`" in note for note in found)


def test_parts_of_a_model_go_without_saying(run: Run, write: Callable[..., Path]) -> None:
    write("train.py", WINDOWS.replace("nn.Linear(4, 1)", "nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))"))
    assert "`loss` fills the gradients of `model`" in notes(run, "train.py")


def test_a_step_of_something_unknown_tells_no_passes(run: Run, write: Callable[..., Path]) -> None:
    write("train.py", UNKNOWN)
    found = notes(run, "train.py")
    assert "`second` applies what is there to something unresolved" in found
    assert not any("applies `" in note for note in found)


def test_json_has_the_lines_of_the_passes(run: Run, write: Callable[..., Path]) -> None:
    write("train.py", TWO_MODELS)
    outcome = run("trace", "--gradients", "--output-format", "json", "train.py")
    first = json.loads(outcome.out)[2]
    assert first == {
        "path": "train.py",
        "cell": None,
        "row": 12,
        "column": 5,
        "event": "Stepped",
        "modules": "`critic`",
        "text": "`second` applies `scores` (line 11) to `critic`",
        "passes": [11],
        "observed": False,
    }


def test_a_script_without_gradients_is_told_of(run: Run, write: Callable[..., Path]) -> None:
    write("train.py", "print(1)\n")
    assert "no gradients found" in run("trace", "--gradients", "train.py").err


def test_only_one_of_both_views_is_printed(run: Run, write: Callable[..., Path]) -> None:
    write("train.py", "print(1)\n")
    outcome = run("trace", "--gradients", "--shapes", "train.py")
    assert (outcome.status, "either `--shapes`, `--gradients` or `--data`" in outcome.err) == (2, True)
