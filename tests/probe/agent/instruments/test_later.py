"""What the source says may come in later passes: parts that join the loss, members of lists that nothing reaches."""

from __future__ import annotations

from textwrap import dedent
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from torch_doctor.probe.agent.instruments.later import may_join
from torch_doctor.probe.agent.instruments.members import out_of_reach


def watching(source: str) -> Any:
    """A watch of a script with this source."""
    sites = SimpleNamespace(lines=lambda _: dedent(source).splitlines())
    index = SimpleNamespace(files={"train.py": None}, sites=sites)
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
