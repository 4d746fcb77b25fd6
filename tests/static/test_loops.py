"""What a loop goes through, and how long it is."""

from __future__ import annotations

import math
import textwrap
from collections import Counter

import pytest

from tests.said import SCRIPT, said
from torch_doctor.scan import Options, traces
from torch_doctor.trace import BatchTaken, Forward, LoopEntered, Trace

DATA = """
import argparse
import itertools
import torch
from torch.utils.data import DataLoader
from tqdm import tqdm, trange

parser = argparse.ArgumentParser()
parser.add_argument("-n", "--max-epochs", default=90, type=int)
parser.add_argument("--name", default="net")
args, _ = parser.parse_known_args()
loader = DataLoader(torch.randn(40, 2), batch_size=4)
batches = iter(loader)
model = torch.nn.Linear(2, 1)
"""


def traced(source: str) -> Trace:
    """The trace of this source after the data."""
    written = (DATA + textwrap.dedent(source)).encode()
    found, report = traces(Options(paths=(SCRIPT,), rules=(), overlay={SCRIPT: written}, names={SCRIPT: SCRIPT.name}))
    assert not report.errors, report.errors
    return next(iter(found))


def length(loop: str) -> float | None:
    """How many passes the loop has that this source begins with."""
    return next(iter(traced(loop).of(LoopEntered))).length


@pytest.mark.parametrize(
    ("over", "passes"),
    [
        ("range(30)", 30),
        ("range(10, 30, 2)", 10),
        ("trange(30)", 30),
        ("tqdm(range(30))", 30),
        ("enumerate(range(30))", 30),
        ("zip(range(30), itertools.count())", 30),
        ("itertools.cycle(range(2))", math.inf),
        ("range(args.max_epochs)", 90),
        ("range(1, args.max_epochs + 1)", 90),
        ("range(args.name)", None),
        ("itertools.islice(itertools.count(), 3)", None),
        ("range(int(input()))", None),
        ("loader", None),
    ],
)
def test_the_length_of_a_for_loop_is_what_it_goes_through(over: str, passes: float | None) -> None:
    assert length(f"for item in {over}:\n    model(torch.randn(2, 2))") == passes


@pytest.mark.parametrize(
    ("begins", "test", "step", "passes"),
    [
        (0, "i < 30", "i += 1", 30),
        (1, "i <= 30", "i = i + 1", 30),
        (0, "30 > i", "i += 3", 10),
        (30, "i > 0", "i -= 1", 30),
        (0, "i != 30", "i += 1", 30),
        (0, "i < args.max_epochs and not done", "i += 1", 90),
        (1, "i <= args.max_epochs", "i += 1", 90),
        (0, "i < int(input())", "i += 1", None),
        (0, "i < 30", "i *= 2", None),
        (0, "i < 30", "i += 1; i += 1", None),
        (0, "True", "i += 1", math.inf),
    ],
)
def test_the_length_of_a_while_loop_is_what_it_counts(begins: int, test: str, step: str, passes: float | None) -> None:
    assert (
        length(f"i, done = {begins}, bool(input())\nwhile {test}:\n    model(torch.randn(2, 2))\n    {step}") == passes
    )


def test_what_may_be_left_early_is_not_endless() -> None:
    assert length("while True:\n    if model(torch.randn(2, 2)).sum() > 0:\n        break") is None


def test_an_option_that_is_set_has_its_default_no_more() -> None:
    assert length("args.max_epochs = int(input())\nfor epoch in range(args.max_epochs):\n    pass") is None


@pytest.mark.parametrize(
    "loop",
    [
        "while True:\n    try:\n        x = next(batches)\n    except StopIteration:\n        break\n    model(x)",
        "while (x := next(batches, None)) is not None:\n    model(x)",
        "while True:\n    x = next(batches, None)\n    if x is None:\n        break\n    model(x)",
        "try:\n    while True:\n        model(next(batches))\nexcept StopIteration:\n    pass",
    ],
)
def test_a_loop_that_takes_all_items_of_a_loader_goes_through_its_batches(loop: str) -> None:
    assert len(said(DATA + loop, ", batch by batch")) == 1


def test_a_loop_that_begins_its_iterator_again_has_no_end() -> None:
    loop = """
    while True:
        try:
            x = next(batches)
        except StopIteration:
            batches = iter(loader)
            x = next(batches)
        model(x)
    """
    assert not said(DATA + textwrap.dedent(loop), ", batch by batch")


def test_the_end_of_an_iterator_comes_once_after_all_passes() -> None:
    loop = """
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    layers = iter([torch.nn.Conv1d(2, 2, 1), torch.nn.LayerNorm(2), torch.nn.Bilinear(2, 2, 1)])
    while True:
        try:
            layer = next(layers)
        except StopIteration:
            optimizer.step()
            break
        optimizer.add_param_group({"params": layer.parameters()})
    """
    (step,) = said(DATA + textwrap.dedent(loop), "step `optimizer`")
    assert all(name in step for name in ("Conv1d", "LayerNorm", "Bilinear"))


def test_a_counter_knows_its_first_pass() -> None:
    loop = """
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    i = 0
    while i < 50:
        if i == 0:
            optimizer.zero_grad()
        i += 1
    """
    assert len(said(DATA + textwrap.dedent(loop), "zero_grad `optimizer`")) == 1


def test_a_list_beside_a_count_without_an_end_is_gone_through_item_by_item() -> None:
    script = """
    import itertools
    from torch import nn, randn
    models = {"train": nn.Linear(2, 2), "val": nn.Conv1d(2, 2, 1)}
    for phase, number in zip(["train", "val"], itertools.count()):
        models[phase](randn(2, 2))
    """
    forwards = said(script, "forward `models[phase]`")
    assert [line.split("(")[1].split(")")[0] for line in forwards] == ["Linear", "Conv1d"]


NESTED = """
def epoch(loader):
    for x in loader:
        print(x)

{head}
    epoch(loader)
    epoch(loader)
"""


@pytest.mark.parametrize(
    ("head", "batches"),
    [
        ("for number in range(args.max_epochs):", [2, 2, 1, 1]),
        ("while True:", [2, 2, 1, 1]),
        ("for phase in ('train', 'validate'):", [2, 2, 2, 2]),
        ("for fold in range(5):\n  for number in range(args.max_epochs):", [2, 2, 1, 1, 1, 1]),
    ],
)
def test_an_inner_loop_has_one_iteration_where_an_outer_loop_repeats_itself(head: str, batches: list[int]) -> None:
    taken = Counter(event.scope.loop for event in traced(NESTED.format(head=head)).of(BatchTaken))
    assert [taken[loop] for loop in sorted(taken)] == batches


def test_what_an_outer_iteration_leaves_is_seen_in_the_inner_iteration_of_the_next() -> None:
    script = """
    for number in range(args.max_epochs):
        for x in loader:
            model(x)
        model.eval()
    """
    assert [event.training for event in traced(textwrap.dedent(script)).of(Forward)] == [True, True, False]
