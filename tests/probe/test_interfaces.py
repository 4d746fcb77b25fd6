"""A call whose arguments do not fit an interface is the script's own failure, whatever data the probe has made up."""

from __future__ import annotations

from typing import Any

import pytest

Run = Any
Write = Any

LIBRARY = """
import functools

__version__ = "3.1"


class Arguments:
    def __init__(self, folder="out", *, eval_strategy="no", epochs=3, batch_size=8):
        self.folder = folder


def with_defaults(build):
    @functools.wraps(build)
    def built(self, *given, **named):
        return build(self, *given, **named)

    return built


class Trainer:
    @with_defaults
    def __init__(self, model=None, args=None, processing_class=None):
        self.model = model

    def train(self, rows):
        return self.compute_loss(self.model, rows, num_items_in_batch=len(rows))

    def compute_loss(self, model, rows, num_items_in_batch=None):
        return model(rows).sum()


def fail(rows, limit):
    raise TypeError("bad argument 'limit'")


def check(**options):
    def wanted(epochs=1):
        return epochs

    return wanted(**options)
"""
SCRIPT = """
import sys

sys.path.insert(0, "site-packages")
import json
import numpy as np
import torch
import zoo
from torch import nn

rows = torch.from_numpy(np.load("rows.npy")).float()
with open("options.json") as file:
    options = json.load(file)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 2)

    def forward(self, rows):
        return self.layer(rows)


class Own(zoo.Trainer):
    def compute_loss(self, model, rows):
        return model(rows).sum()


net = Net()
{statement}
"""
PLACE = SCRIPT[: SCRIPT.index("{statement}")].count("\n") + 1
WRONG = [
    pytest.param(
        "zoo.Arguments(evaluation_strategy='epoch')",
        "`zoo.Arguments` of zoo 3.1 has no argument `evaluation_strategy`; "
        "it expects `zoo.Arguments(folder='out', eval_strategy='no', epochs=3, batch_size=8)`",
        id="class",
    ),
    pytest.param(
        "zoo.Trainer(net, tokenizer=None)",
        "`zoo.Trainer` of zoo 3.1 has no argument `tokenizer`; "
        "it expects `zoo.Trainer(model=None, args=None, processing_class=None)`",
        id="wrapped",
    ),
    pytest.param(
        "zoo.fail(rows)",
        "`zoo.fail` of zoo 3.1 does not take these arguments; it expects `zoo.fail(rows, limit)`",
        id="missing",
    ),
    pytest.param(
        "net(rows, mask=None)",
        "`net` has no argument `mask`; it expects `net(rows)`",
        id="module",
    ),
]


@pytest.fixture
def probed(run: Run, write: Write) -> Any:
    """What is said of a script that ends with a statement."""

    def told(statement: str) -> str:
        write("site-packages/zoo.py", LIBRARY)
        write("train.py", SCRIPT.replace("{statement}", statement))
        outcome = run("scan", "train.py", "--probe", "--isolated")
        return " ".join(outcome.err.split())

    return told


@pytest.mark.usefixtures("farm")
@pytest.mark.parametrize(("statement", "text"), WRONG)
def test_the_script_fails_by_itself_where_arguments_do_not_fit(probed: Any, statement: str, text: str) -> None:
    told = probed(statement)
    assert "train.py fails on its own: TypeError: " in told
    assert f"train.py:{PLACE} in <module>: {statement} {text}" in told
    assert "possible cause" not in told


@pytest.mark.usefixtures("farm")
def test_a_library_that_calls_the_script_otherwise_is_shown_with_the_function_of_the_script(probed: Any) -> None:
    told = probed("Own(net).train(rows)")
    assert "train.py fails on its own: TypeError: " in told
    row = SCRIPT[: SCRIPT.index("    def compute_loss")].count("\n") + 1
    assert f"train.py:{row} in compute_loss: def compute_loss(self, model, rows):" in told
    called = "self.compute_loss(self.model, rows, num_items_in_batch=len(rows))"
    own = "`Own.compute_loss(model, rows)` has no argument `num_items_in_batch`"
    assert f"zoo 3.1 calls `{called}`, but {own}" in told


@pytest.mark.usefixtures("farm")
@pytest.mark.parametrize(
    "statement",
    [
        pytest.param("zoo.check(**options)", id="unpacked"),
        pytest.param("zoo.fail(rows, 3)", id="in-the-body"),
        pytest.param("zoo.Arguments(folder='out' + rows)", id="argument-in-the-words"),
        pytest.param("zoo.check(epoch=3)", id="deeper"),
    ],
)
def test_an_error_that_depends_on_values_is_no_mismatch(probed: Any, statement: str) -> None:
    told = probed(statement)
    assert "fails on its own" not in told
    assert "it expects" not in told


def test_the_checkup_says_what_the_interface_expects(run: Run, write: Write) -> None:
    write("site-packages/zoo.py", LIBRARY)
    write("train.py", SCRIPT.replace("{statement}", "zoo.Trainer(net, tokenizer=None)"))
    outcome = run("checkup", "train.py", "--isolated", "--time", "40")
    told = " ".join(outcome.out.split())
    assert outcome.status == 1
    assert "has no argument `tokenizer`" in told
