"""What schedules and loops count, in numbers or in the script's words."""

from __future__ import annotations

import pytest

from tests.said import said

SCRIPT = """
import argparse
import torch
from tqdm import trange

args = argparse.ArgumentParser().parse_args()
loader = torch.utils.data.DataLoader([1, 2, 3, 4])
optimizer = torch.optim.SGD(torch.nn.Linear(4, 2).parameters(), lr=0.1)
{}
"""


@pytest.mark.parametrize(
    ("built", "length"),
    [
        ("CosineAnnealingLR(optimizer, 50)", "50"),
        ("CosineAnnealingLR(optimizer, T_max=args.epochs)", "args.epochs"),
        ("StepLR(optimizer, gamma=0.5, step_size=30)", "30"),
        ("MultiStepLR(optimizer, milestones=[30, 60])", "[30, 60]"),
        ("OneCycleLR(optimizer, 0.1, epochs=3, steps_per_epoch=len(loader))", "3 * len(loader)"),
    ],
)
def test_a_schedule_has_the_length_that_it_was_given(built: str, length: str) -> None:
    source = SCRIPT.format(f"torch.optim.lr_scheduler.{built}")
    assert said(source, "the schedule is") == [f"the schedule is {length} steps long"]


@pytest.mark.parametrize("built", ["ExponentialLR(optimizer, 0.9)", "LambdaLR(optimizer, lambda step: 1 / (step + 1))"])
def test_a_schedule_that_is_never_over_has_no_length(built: str) -> None:
    assert not said(SCRIPT.format(f"torch.optim.lr_scheduler.{built}"), "the schedule is")


@pytest.mark.parametrize(
    ("over", "passes"),
    [("range(90)", "90"), ("range(1, args.epochs + 1)", "args.epochs + 1"), ("trange(args.epochs)", "args.epochs")],
)
def test_a_loop_counts_to_the_end_of_its_range(over: str, passes: str) -> None:
    assert said(SCRIPT.format(f"for epoch in {over}:\n    pass"), "count to") == [f"count to {passes}"]
