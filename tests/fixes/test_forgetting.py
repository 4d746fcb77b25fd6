"""Gradients that are applied by hand are cleared where what is updated has a name."""

from __future__ import annotations

from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    Mended = Callable[[str, str], str]

HEAD = """\
import torch
from torch import nn

w = torch.zeros(3, requires_grad=True)
net = nn.Linear(3, 1)


"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            """\
            for step in range(100):
                loss = (torch.rand(8, 3) @ w).square().mean()
                loss.backward()
                with torch.no_grad():
                    w -= 0.1 * w.grad
            """,
            """\
            for step in range(100):
                loss = (torch.rand(8, 3) @ w).square().mean()
                w.grad = None
                loss.backward()
                with torch.no_grad():
                    w -= 0.1 * w.grad
            """,
        ),
        (
            """\
            for step in range(100):
                net(torch.rand(8, 3)).square().mean().backward()
                with torch.no_grad():
                    for p in net.parameters():
                        p -= 0.1 * p.grad
            """,
            """\
            for step in range(100):
                net(torch.rand(8, 3)).square().mean().backward()
                with torch.no_grad():
                    for p in net.parameters():
                        p -= 0.1 * p.grad
                        p.grad = None
            """,
        ),
    ],
    ids=["named", "in-a-loop"],
)
def test_the_gradient_is_cleared_before_the_pass_or_after_the_update(mended: Mended, before: str, after: str) -> None:
    assert mended(HEAD + dedent(before), "TDR101") == HEAD + dedent(after)


def test_a_gradient_that_is_read_after_the_update_stays(mended: Mended) -> None:
    text = HEAD + dedent("""\
        for step in range(100):
            net(torch.rand(8, 3)).square().mean().backward()
            with torch.no_grad():
                for p in net.parameters():
                    p -= 0.1 * p.grad
            print(sum(p.grad.norm() for p in net.parameters()))
        """)
    assert mended(text, "TDR101") == text
