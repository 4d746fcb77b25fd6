"""Options of a command line: their default numbers hold, and what is tested of them is not decided."""

from __future__ import annotations

import pytest

from tests.said import said

OPTIONS = """
import argparse
import torch
parser = argparse.ArgumentParser()
group = parser.add_argument_group("model")
group.add_argument("-d", "--out-size", type=int, default=3)
parser.add_argument("--rate", type=float, default=0.0)
parser.add_argument("--amp", action="store_true")
parser.add_argument("--where", default="runs")
parser.set_defaults(window=4)
args = parser.parse_args()
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
"""


@pytest.mark.parametrize("test", ["args.out_size > 2", "args.rate", "args.window == 4", "args.amp", "not args.where"])
def test_a_test_of_an_option_goes_both_ways(test: str) -> None:
    lines = said(OPTIONS + f"if {test}:\n    optimizer.zero_grad()\nelse:\n    optimizer.step()\n", "`optimizer`")
    assert [line.partition("`")[0].strip() for line in lines] == ["zero_grad", "step"]


def test_the_same_test_of_an_option_is_decided_once() -> None:
    script = """
if args.window > 1:
    optimizer.zero_grad()
if not args.window > 1:
    optimizer.step()
"""
    first, second = said(OPTIONS + script, "`optimizer`")
    assert first != second


@pytest.mark.parametrize(
    ("layer", "size"),
    [
        ("Linear(2, args.out_size)", 3),
        ("Linear(2, 2 * args.out_size)", 6),
        ("Linear(2, int(args.out_size / 2))", 1),
        ("Linear(2, args.window)", 4),
    ],
)
def test_a_layer_has_the_size_of_an_option(layer: str, size: int) -> None:
    script = f"loss = torch.nn.functional.cross_entropy(torch.nn.{layer}(torch.randn(5, 2)), torch.zeros(5).long())\n"
    assert any(f"[5, {size}]" in line for line in said(OPTIONS + script, "loss"))


@pytest.mark.parametrize(("rate", "known"), [("args.rate", False), ("args.out_size / 10", True)])
def test_a_rate_that_is_zero_by_default_may_be_raised(rate: str, *, known: bool) -> None:
    script = f"net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Dropout({rate}))\nnet(torch.randn(2, 2))\n"
    assert any("mode-sensitive" in line for line in said(OPTIONS + script, "create")) is known
