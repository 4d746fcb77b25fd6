"""The gradients of the terms of losses: which terms there are, how large they are, and that nothing changes."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from torch_doctor.trace import TermGradient

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SCRIPT = """
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.depth, self.kind = nn.Linear(8, 8), nn.Linear(8, 1), nn.Linear(8, 3)
    def forward(self, x):
        hidden = F.dropout(self.body(x).relu(), 0.1)
        return self.depth(hidden).squeeze(1), self.kind(hidden)
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x, y, kinds = torch.randn(16, 8), torch.randn(16), torch.randint(0, 3, (16,))
for step in range(3):
    depth, scores = net(x)
    first, second = F.mse_loss(depth, y), F.cross_entropy(scores, kinds)
    {loss}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("sum", [each.sum().item() for each in net.parameters()], torch.rand(1).item())
"""
CHECKPOINTED = """
from torch.utils.checkpoint import checkpoint
loss = first + checkpoint(lambda v: net(v)[0].sum(), x, use_reentrant=False)
"""
BY_HAND = """
class Same(torch.autograd.Function):
    forward = staticmethod(lambda ctx, v: v.clone())
    backward = staticmethod(lambda ctx, given: given)
loss = first + Same.apply(second)
"""
NEEDS = ("terms", "term_gradients")


def script(loss: str) -> str:
    """The script with a loss of its own."""
    return SCRIPT.format(loss="\n    ".join(loss.splitlines()))


def table(events: list[TermGradient]) -> dict[str, list[str]]:
    """Which modules each term reaches."""
    found: dict[str, list[str]] = {}
    for event in events:
        found.setdefault(event.term, []).extend([event.module] * (event.norm is not None))
    return found


FIRST, SECOND = ["net.body", "net.depth"], ["net.body", "net.kind"]


@pytest.mark.parametrize(
    ("loss", "terms"),
    [
        ("loss = first + 0.5 * second", {"first": FIRST, "0.5 * second": SECOND}),
        ("loss = torch.stack([first, 0.5 * second]).sum()", {"first": FIRST, "0.5 * second": SECOND}),
        ("losses = [first, second]\nloss = sum(losses)", {"sum(losses) (1)": FIRST, "sum(losses) (2)": SECOND}),
        ("loss = torch.zeros(())\nloss += first\nloss += 2 * second", {"first": FIRST, "2 * second": SECOND}),
        ("loss = 0\nfor each in (first, second):\n    loss = loss + each", {"each (1)": FIRST, "each (2)": SECOND}),
        ("loss = (first\n        + 3 - second) / 4", {"first": FIRST, "second": SECOND}),
        ("loss = (depth * 0.2 + F.log_softmax(scores, 1)[:, 0]).mean()", None),
        ("loss = first + (2 * second).detach()", {"first": FIRST, "(2 * second).detach()": []}),
        ("loss = first + 0.1 * sum(each.square().sum() for each in net.parameters())", None),
        ("loss = depth.mean() + 2 * depth.mean()", {"depth.mean()": FIRST, "2 * depth.mean()": FIRST}),
        ("loss = first", {"loss": FIRST}),
    ],
)
def test_terms_are_told_apart(seen: Callable[..., list[Any]], loss: str, terms: dict[str, list[str]] | None) -> None:
    found = table(seen(script(loss), TermGradient, *NEEDS))
    assert len(found) == 2 if terms is None else found == terms


def test_what_a_library_adds_up_is_one_term(seen: Callable[..., list[Any]]) -> None:
    loss = "given = torch.distributions.Normal(depth, 1.0)\nloss = -given.log_prob(y).mean() + second"
    assert [*table(seen(script(loss), TermGradient, *NEEDS))] == ["-given.log_prob(y).mean()", "second"]


def test_the_terms_make_up_the_gradient(seen: Callable[..., list[Any]]) -> None:
    whole = seen(script("loss = (2 * first) / 4"), TermGradient, *NEEDS)
    found = seen(script("loss = (F.mse_loss(depth, y) + F.mse_loss(depth, y)) / 4"), TermGradient, *NEEDS)
    assert [event.norm for event in whole if event.norm] == pytest.approx(
        [2 * event.norm for event in found if event.norm and event.number == 0]
    )
    assert all(event.weights > 0 for event in whole)


@pytest.mark.parametrize(
    ("loss", "why"),
    [
        ("depth.register_hook(lambda given: given)\nloss = first + second", "a tensor has a hook"),
        (CHECKPOINTED, "as with checkpointing"),
        ("loss = first + second * first", "one of its terms is computed from another one"),
        (BY_HAND, "a custom function"),
    ],
)
def test_what_would_run_twice_is_left_alone(
    run: Callable[..., Any], write: Callable[..., Path], loss: str, why: str
) -> None:
    write("train.py", script(loss))
    outcome = run("trace", "--gradients", "--probe", "train.py")
    assert "the terms of `loss` were not measured: " in outcome.err
    assert why in outcome.err
    assert "norm by term" not in outcome.out


def test_the_script_trains_as_without_it(
    run: Callable[..., Any], write: Callable[..., Path], alone: Callable[[Path], str]
) -> None:
    path = write("train.py", script("loss = first + 0.5 * second"))
    outcome = run("trace", "--gradients", "--probe", "--probe-output", "train.py")
    assert "norm by term" in outcome.out
    told = next(row for row in outcome.err.splitlines() if row.startswith("sum"))
    assert told == alone(path)


@pytest.fixture
def alone() -> Callable[[Path], str]:
    """Runs a script without the probe, and returns its last line."""

    def last(path: Path) -> str:
        done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=True)
        return done.stdout.splitlines()[-1]

    return last
