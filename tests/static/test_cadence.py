"""Which passes step and clear follows from the counters of a loop, however the script spells their tests."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from torch_doctor.scan import Options, scan
from torch_doctor_rules.update.accumulation_cadence import AccumulationCadence

SCRIPT = Path("/nowhere/train.py")
HEAD = """
import itertools
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.randn(96, 4), torch.randn(96, 1)), batch_size=8)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
n = 0
"""
LOOP = """
for epoch in range(3):
    for i, (x, y) in enumerate(loader):
        {before}
        (F.mse_loss(model(x), y) / 4).backward()
        {count}
        if {test}:
            optimizer.step()
            {within}
        {after}
"""
KEPT = """
from accelerate import Accelerator
accelerator = Accelerator(gradient_accumulation_steps={length})
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for epoch in range(3):
    for x, y in loader:
        {outside}
        with accelerator.accumulate(model):
            {before}
            loss = F.mse_loss(model(x), y)
            accelerator.backward(loss)
            optimizer.step()
            {after}
"""
CLEAR = "optimizer.zero_grad()"


def is_found(source: str) -> bool:
    """Whether TDR128 is found in a script that begins with the data."""
    text = (HEAD + textwrap.dedent(source)).encode()
    found = scan(
        Options(paths=(SCRIPT,), rules=(AccumulationCadence(),), overlay={SCRIPT: text}, names={SCRIPT: SCRIPT.name})
    )
    assert not found.errors, found.errors
    return bool(found.findings)


def loop(test: str, *, count: str = "pass", before: str = "pass", within: str = CLEAR, after: str = "pass") -> str:
    """A training loop that steps if a test holds."""
    return LOOP.format(test=test, count=count, before=before, within=within, after=after)


@pytest.mark.parametrize(
    "test",
    ["i % 4", "i % 4 != 0", "(i + 1) % 4", "not (i + 1) % 4 == 0", "i % 4 > 0", "(epoch * len(loader) + i) % 3"],
)
def test_an_inverted_test_is_found(test: str) -> None:
    assert is_found(loop(test))


@pytest.mark.parametrize(
    "test",
    [
        *(
            "(i + 1) % 4 == 0",
            "not (i + 1) % 4",
            "i % 4 == 3",
            "i % 2",
            "i % 4 == 0",
            "i and i % 4 == 0",
            "i > 7",
            "i < 3",
        ),
        *("(i + 1) % 4 == 0 or i + 1 == len(loader)", "i % (epoch + 2)", "torch.rand(1).item() < i % 4", "n % 4"),
    ],
)
def test_another_test_is_not(test: str) -> None:
    assert not is_found(loop(test))


def test_what_is_cleared_between_two_runs_of_the_loop_is_no_window() -> None:
    between = "for epoch in range(3):\n    optimizer.zero_grad()\n"
    for wrong in (loop("i % 4"), loop("True", within="pass", after=f"if (i + 1) % 4 == 0: {CLEAR}")):
        assert is_found(wrong.replace("for epoch in range(3):\n", between))
    for right in (loop("(i + 1) % 4 == 0"), loop("i % 4 == 0"), loop("i % 2"), loop("i and i % 5 == 0")):
        assert not is_found(right.replace("for epoch in range(3):\n", between))


def test_counters_are_run() -> None:
    assert is_found(loop("n % 4", count="n += 1"))
    assert is_found(loop("n % 4", count="n = n + 1"))
    assert is_found(loop("n == 4", count="n = 0; n += 1"))
    assert is_found(loop("n == 5", count="n += 2", within="n = 0"))
    assert not is_found(loop("n == 4", count="n += 1", within="optimizer.zero_grad(); n = 0"))
    assert not is_found(loop("n % 4 == 0", count="n += 1"))


def test_windows_are_cleared_behind_their_step() -> None:
    assert is_found(loop("(i + 1) % 4 == 0", before=CLEAR, within="pass"))
    assert is_found(loop("(i + 1) % 4 == 0", after=CLEAR, within="pass"))
    assert is_found(loop("(i + 1) % 4 == 0", after="model.zero_grad()", within="pass"))
    assert not is_found(loop("(i + 1) % 1 == 0", before=CLEAR, within="pass"))
    assert not is_found(loop("i > 5", before=CLEAR, within="pass"))
    norms = "print([p.grad.norm() for p in model.parameters()])"
    assert not is_found(loop("(i + 1) % 4 == 0", before=CLEAR, count=norms, within="pass"))


@pytest.mark.parametrize(
    ("where", "length", "wrong"),
    [
        ({"before": CLEAR}, 4, True),
        ({"before": "model.zero_grad()"}, 4, True),
        ({"after": "model.zero_grad()"}, 4, True),
        ({"before": CLEAR}, 1, False),
        ({"after": CLEAR}, 4, False),
        ({"outside": CLEAR}, 4, False),
        ({"outside": "model.zero_grad()"}, 4, True),
    ],
)
def test_prepared_optimizers_wait_for_their_window(where: dict[str, str], length: int, *, wrong: bool) -> None:
    around = {"outside": "pass", "before": "pass", "after": "pass"} | where
    assert is_found(KEPT.format(length=length, **around)) is wrong
