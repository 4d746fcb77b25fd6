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
    assert (outcome.status, "either `--shapes` or `--gradients`" in outcome.err) == (2, True)
