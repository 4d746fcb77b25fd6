"""What the source says may come in later passes: parts that join the loss, members of lists that nothing reaches."""

from __future__ import annotations

import ast
import sys
from textwrap import dedent
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from torch_doctor.probe.agent.instruments.update.later import may_join
from torch_doctor.probe.agent.instruments.update.members import out_of_reach


def watching(source: str) -> Any:
    """A watch of a script with this source."""
    index = SimpleNamespace(trees=lambda: {"train.py": ast.parse(dedent(source))})
    return SimpleNamespace(recorder=SimpleNamespace(index=index), torch=torch)


def loop(body: str) -> str:
    """A script that trains, with this in its loop."""
    lines = [
        "for epoch in range(9):",
        "    loss = first",
        *(f"    {line}" for line in body.splitlines()),
        "    loss.backward()",
    ]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("body", "joins"),
    [
        ("if epoch >= 5:\n    loss = loss + second", True),
        ("if epoch % 2:\n    loss += second", True),
        ("if random.random() < 0.1:\n    loss = second", True),
        ("if dice.choice([1, 2]) == 2:\n    loss = second", True),
        ("if share.bernoulli():\n    loss = second", True),
        ("if operand(first):\n    loss = second", False),
        ("if first.dim() > 1:\n    loss = second", False),
        ("if epoch >= 5:\n    second.backward()", True),
        ("part = first\nif epoch > 5:\n    part = second\nloss = loss + part", True),
        ("if epoch >= 5:\n    best = loss", False),
        ("if args.both:\n    loss = loss + second", False),
        ("if second is not None:\n    loss = loss + second", False),
        ("loss = loss + second", False),
    ],
)
def test_a_part_may_join_the_loss_where_a_test_of_later_passes_decides(body: str, joins: bool) -> None:
    assert may_join(watching(loop(body))) is joins


@pytest.mark.parametrize(
    ("names", "call", "joins"),
    [
        ("from random import gauss as draw", "draw(0, 1) > 1", True),
        ("import random\ndice = random.Random(0)", "dice.random() > 0.5", True),
        ("from torch import rand as operand", "operand(1) > 0.5", True),
        ("import random\ndef coin(): return random.random()", "coin() > 0.5", True),
        ("def random(): return 4", "random() > 3", False),
        ("from math import floor as rand", "rand(0.5) > 0", False),
        ("from torch import numel as rand", "rand(first) > 0", False),
    ],
)
def test_what_draws_is_known_by_what_its_name_stands_for(
    monkeypatch: pytest.MonkeyPatch, names: str, call: str, joins: bool
) -> None:
    source = f"{names}\n{loop(f'if {call}: loss = second')}"
    module = ModuleType("train")
    module.__file__ = "train.py"
    exec(compile(names, "train.py", "exec"), vars(module))  # noqa: S102 - lines of this test
    monkeypatch.setitem(sys.modules, "train", module)
    assert may_join(watching(source)) is joins


def test_a_part_may_join_in_a_function_that_returns_the_loss() -> None:
    assert may_join(
        watching(
            "def whole(first, second, epoch):\n    if epoch > 5:\n        first = first + second\n    return first"
        )
    )


def test_a_flag_that_is_set_while_training_may_turn() -> None:
    source = loop("if model.both:\n    loss = loss + second")
    assert not may_join(watching(source))
    assert may_join(watching(f"{source}\nmodel.both = True"))


@pytest.mark.parametrize(
    ("line", "lost"),
    [
        ("for layer in model.layers[:-1]: rows = layer(rows)", {2}),
        ("rows = model.layers[0](rows)", {1, 2}),
        ("rows = model.layers[1:](model.layers[0](rows))", set()),
        ("for layer in model.layers[:depth]: rows = layer(rows)", set()),
        ("for number in range(2): rows = model.layers[number](rows)", set()),
        ("for layer in model.layers: rows = layer(rows)", set()),
        ("getattr(model, 'layers')[0]", set()),
        ("print(len(model.layers))", set()),
    ],
)
def test_a_member_that_no_line_reaches_is_known(line: str, lost: set[int]) -> None:
    model = nn.Module()
    model.layers = nn.ModuleList(nn.Linear(2, 2) for _ in range(3))
    watch = watching(line)
    assert {number for number, part in enumerate(model.layers) if out_of_reach(watch, model, part)} == lost
