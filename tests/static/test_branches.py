"""What one arm of a branch does is unknown to the other arm."""

from __future__ import annotations

import textwrap

import pytest

from tests.said import said

MODELS = """
import torch
from torch import nn
model, head = nn.Linear(4, 4), nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
other = torch.optim.SGD(model.parameters(), lr=0.1)

def grow():
    optimizer.add_param_group({"params": head.parameters()})

loss = head(model(torch.randn(2, 4))).sum()
"""
GROWS = """optimizer.add_param_group({"params": head.parameters()})"""


def steps(script: str) -> list[str]:
    """What the steps of `MODELS` followed by a script update."""
    return said(MODELS + textwrap.dedent(script), "step `")


@pytest.mark.parametrize(
    "script",
    [
        f"""
        if flag():
            {GROWS}
        else:
            optimizer.step()
        """,
        f"""
        if flag():
            optimizer.step()
        else:
            {GROWS}
        """,
        """
        if flag():
            grow()
        else:
            optimizer.step()
        """,
        f"""
        def train(a):
            if a:
                {GROWS}
            else:
                optimizer.step()
        train(flag())
        """,
        f"""
        def train(a):
            if a:
                {GROWS}
                return
            optimizer.step()
        train(flag())
        """,
        """
        grow() if flag() else optimizer.step()
        """,
        f"""
        if flag():
            pass
        elif flag():
            {GROWS}
        else:
            optimizer.step()
        """,
        f"""
        for _ in range(3):
            if flag():
                {GROWS}
                break
            optimizer.step()
        """,
        f"""
        if flag():
            for _ in range(3):
                {GROWS}
        else:
            optimizer.step()
        """,
        """
        if flag():
            other.add_param_group({"params": head.parameters()})
            optimizer.step()
        else:
            other.step()
        """,
    ],
)
def test_parameters_that_one_arm_adds_are_not_updated_in_the_other(script: str) -> None:
    assert steps(script)
    assert not any("`head`" in line for line in steps(script))


@pytest.mark.parametrize(
    "script",
    [
        f"""
        if flag():
            {GROWS}
        optimizer.step()
        """,
        f"""
        if flag():
            pass
        else:
            {GROWS}
        optimizer.step()
        """,
        f"""
        try:
            {GROWS}
        except ValueError:
            print()
        optimizer.step()
        """,
        f"""
        for _ in range(3):
            optimizer.step()
            if flag():
                {GROWS}
        """,
    ],
)
def test_what_is_executed_after_both_arms_knows_what_either_did(script: str) -> None:
    assert "`model`, `head`" in steps(script)[-1]
