"""Whether one of several items is true, or all are, as far as they are known."""

from __future__ import annotations

import pytest

from tests.said import said

SCRIPT = """
import argparse
import torch
from torch import nn
args = argparse.ArgumentParser().parse_args()
model = nn.Linear(2, 2)
flags = [args.first, args.second]
for round in range(args.rounds):
    flags.append(round)
if {}:
    model.train()
else:
    model.eval()
"""


@pytest.mark.parametrize(
    ("test", "outcome"),
    [
        ("any(key in 'head.bias' for key in ('head.', 'tail.'))", True),
        ("any(key in 'body.bias' for key in ('head.', 'tail.'))", False),
        ("all([True, 1])", True),
        ("all(())", True),
        ("any(())", False),
        ("any([args.first, True])", True),
        ("all([args.first, False])", False),
        ("any([args.first, False])", None),
        ("all([args.first, True])", None),
        ("any(flags)", None),
        ("any(args.names)", None),
    ],
)
def test_what_decides_it(test: str, *, outcome: bool | None) -> None:
    source = SCRIPT.format(test)
    first, second = bool(said(source, "to training mode")), bool(said(source, "to evaluation mode"))
    assert (first, second) == (outcome is not False, outcome is not True)
