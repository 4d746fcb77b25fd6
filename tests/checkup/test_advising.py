"""What a checkup says beside its rungs: facts about scripts that may well be right, and causes of errors."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from torch_doctor.checkup.diagnosing import LIKELY, POSSIBLE, answers
from torch_doctor.checkup.outcome import Checkup, Rung
from torch_doctor.checkup.running import Wanted, checkup
from torch_doctor.checkup.symptoms import BY_NAME
from torch_doctor.checkup.telling.words import what_next
from torch_doctor.cli.checkup import status
from torch_doctor.probing import Probing
from torch_doctor.rule import Level
from torch_doctor.scan import Options
from torch_doctor_rules.module.dead_units import DeadUnits

from .conftest import Heard, broken

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .conftest import Examine

OVERFIT = "overfit-one-batch"
STOPPED = "the script stops with an error"
SEQUENCES = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
tokens = torch.randint(0, 20, (64, 300))
labels = (tokens[:, 0] > 9).float()
loader = DataLoader(TensorDataset(tokens, labels), batch_size=32)


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 8)
        self.rnn = nn.RNN(8, 8, batch_first=True)
        self.head = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 1))

    def forward(self, words):
        states, _ = self.rnn(self.embed(words))
        return self.head(states[:, -1]).squeeze(1)


reader = Reader()
reader.embed.requires_grad_(False)
reader.head[0].bias.requires_grad = False
optimizer = torch.optim.Adam(reader.parameters(), lr=0.01)
for words, label in loader:
    optimizer.zero_grad()
    nn.functional.mse_loss(reader(words), label).backward()
    optimizer.step()
"""
RIGHT = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
tokens = torch.randint(0, 20, (64, 60))
loader = DataLoader(TensorDataset(tokens), batch_size=32)


class Writer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 8)
        self.rnn = nn.LSTM(8, 8, batch_first=True)
        self.head = nn.Linear(8, 20)

    def forward(self, words):
        return self.head(self.rnn(self.embed(words))[0])


writer = Writer()
optimizer = torch.optim.Adam(writer.parameters(), lr=0.01)
for (words,) in loader:
    optimizer.zero_grad()
    logits = writer(words[:, :-1])
    nn.functional.cross_entropy(logits.transpose(1, 2), words[:, 1:]).backward()
    optimizer.step()
"""


def test_frozen_parts_two_classes_and_faint_steps_are_facts(examine: Examine) -> None:
    found = examine(SEQUENCES, OVERFIT, seconds=20).checkup
    frozen, classes, early = found.advice
    assert frozen == "frozen parameters: 168 of 385 parameters of the model: `embed` and `head.0.bias`"
    assert classes.startswith("loss: all targets of `mse_loss` are 0 or 1: if these are two classes")
    assert early.startswith("early time steps: the gradient of the first of 300 time steps of `rnn` is ")
    assert not any("advice" in each.reason for each in found.rungs)
    answer = next(each for each in answers(BY_NAME["the loss does not decrease"], found) if "frozen" in each.cause.what)
    assert answer.likelihood in {LIKELY, POSSIBLE}
    assert frozen in answer.speaks_for


def test_nothing_is_said_of_a_language_model(examine: Examine) -> None:
    assert examine(RIGHT, OVERFIT, seconds=20).checkup.advice == []


def test_targets_of_other_values_are_no_classes(examine: Examine) -> None:
    script = broken("labels = (tokens[:, 0] > 9).float()", "labels = tokens[:, 0].float() / 20", script=SEQUENCES)
    assert not any(each.startswith("loss") for each in examine(script, OVERFIT, seconds=20).checkup.advice)


def test_the_cause_of_an_error_of_torch_comes_first(examine: Examine) -> None:
    script = broken("x = torch.randn(256, 10)", "x = torch.randn(256, 10).double()")
    examined = examine(script, "inspect", OVERFIT, "errors", verdicts=True)
    found = examined.checkup
    assert found.error.startswith("RuntimeError: mat1 and mat2 must have the same dtype, but got Double and Float (")
    assert found.cause.startswith("the batches of `train_loader` are float64")
    assert next(iter(what_next(found))) == ("Script error", f"{found.error}; cause: {found.cause}", [])
    assert {each.reason for each in found.rungs[1:]} == {STOPPED}
    assert status(examined, Level.ERROR) == 1


def test_an_error_without_a_known_cause_is_said_once_as_well(examine: Examine) -> None:
    examined = examine(broken("for epoch", "raise KeyError('width')\nfor epoch"), OVERFIT, "errors")
    (title, said, _), *_ = what_next(examined.checkup)
    assert (title, said.partition(" (")[0]) == ("Script error", "KeyError: 'width'")
    assert {each.reason for each in examined.checkup.rungs} == {STOPPED}
    assert status(examined, Level.ERROR) == 1


def test_what_a_rung_without_a_verdict_recommends_comes_after_the_failed_ones() -> None:
    rungs = [
        Rung("baseline", "shown", "told", next="scale the inputs"),
        Rung(OVERFIT, "failed", "wrong", next="divide the learning rate by 10"),
        Rung("errors", "passed", "fine", next="nothing"),
    ]
    told = [said for _, said, _ in what_next(Checkup("train.py", [], "cpu", rungs))]
    assert told == ["divide the learning rate by 10", "scale the inputs"]


def test_a_loader_that_raises_is_the_script_s_own_error(examine: Examine) -> None:
    script = broken(
        "DataLoader(TensorDataset(x[:192], y[:192])", "DataLoader([(x[i, : 3 + i % 5], y[i]) for i in range(192)]"
    )
    found = examine(script, "inspect", "receipt", verdicts=True).checkup
    assert found.rungs[0].reason.startswith("`train_loader` raises RuntimeError: stack expects each tensor to be equal")
    assert found.rungs[1].status == "shown"
    assert "collate_fn" in found.cause


def test_units_that_are_mostly_dead_are_a_fact(write: Callable[..., Path]) -> None:
    dead = "optimizer = torch.optim.Adam(model.parameters(), lr=0.01)\nmodel[0].bias.data[:21] = -50.0"
    path = write("train.py", broken("optimizer = torch.optim.Adam(model.parameters(), lr=0.01)", dead))
    scan = Options(paths=(path,), rules=(DeadUnits(),), probe=Probing(python=sys.executable))
    found = checkup(Wanted(scan=scan, script=path, shown="train.py", rungs=("inspect",)), Heard()).checkup
    (said,) = found.advice
    assert said.startswith("dead units: 21 of 32 units of `ReLU` at ")
    assert not found.findings
