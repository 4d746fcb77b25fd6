"""Objects that are built before they are used, and assignments that become calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    Mended = Callable[[str, str], str]

LOADING = """\
import torch
from torch import nn

state = nn.Linear(2, 1).state_dict()
{}
print(net(torch.zeros(1, 2)))
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("net = nn.Linear(2, 1).load_state_dict(state)", "net = nn.Linear(2, 1)\nnet.load_state_dict(state)"),
        (
            'net = nn.Linear(2, 1).to("cpu").load_state_dict(state)',
            'net = nn.Linear(2, 1).to("cpu")\nnet.load_state_dict(state)',
        ),
        (
            "if state:\n    net = nn.Linear(\n        2, 1\n    ).load_state_dict(state)",
            "if state:\n    net = nn.Linear(\n        2, 1\n    )\n    net.load_state_dict(state)",
        ),
        (
            'net = nn.Linear(2, 1)\nnet.load_state_dict("net.pt")',
            'net = nn.Linear(2, 1)\nnet.load_state_dict(torch.load("net.pt", weights_only=True))',
        ),
    ],
)
def test_weights_are_loaded_into_what_was_built_before(mended: Mended, before: str, after: str) -> None:
    assert mended(LOADING.format(before), "TDR606") == LOADING.format(after)


@pytest.mark.parametrize(
    "before",
    [
        "net = (nn.Linear(2, 1)\n       .load_state_dict(state))",
        "other = 1; net = nn.Linear(2, 1).load_state_dict(state)",
    ],
)
def test_a_statement_that_cannot_be_split_stays(mended: Mended, before: str) -> None:
    assert mended(LOADING.format(before), "TDR606") == LOADING.format(before)


LOSSES = """\
import torch
from torch import nn

net = nn.Linear(2, 1)
{}
x, y = torch.rand(4, 2), torch.rand(4, 1)
loss = {}
loss.backward()
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (("", "nn.MSELoss(net(x), y)"), ("", "nn.MSELoss()(net(x), y)")),
        (("", 'nn.MSELoss(net(x), y, reduction="sum")'), ("", 'nn.MSELoss(reduction="sum")(net(x), y)')),
        (("", "nn.MSELoss(input=net(x), target=y)"), ("", "nn.MSELoss()(input=net(x), target=y)")),
        (("loss_fn = nn.MSELoss", "loss_fn(net(x), y)"), ("loss_fn = nn.MSELoss()", "loss_fn(net(x), y)")),
    ],
)
def test_a_loss_is_built_before_it_is_called(mended: Mended, before: tuple[str, str], after: tuple[str, str]) -> None:
    assert mended(LOSSES.format(*before), "TDR209") == LOSSES.format(*after)


@pytest.mark.parametrize(
    "before",
    [
        ("loss_fn = nn.MSELoss", "loss_fn(net(x), y) + loss_fn()(net(x), y)"),
        ("loss_fn = nn.MSELoss", "loss_fn(net(x), y) + loss_fn(reduction='sum')(net(x), y)"),
        ("loss_fn = nn.MSELoss\nprint(loss_fn)", "loss_fn(net(x), y)"),
        ("loss_fn = nn.MSELoss if len(str(net)) else nn.L1Loss", "loss_fn(net(x), y)"),
    ],
)
def test_a_class_that_is_used_otherwise_too_stays_a_class(mended: Mended, before: tuple[str, str]) -> None:
    assert mended(LOSSES.format(*before), "TDR209") == LOSSES.format(*before)


@pytest.mark.parametrize("value", ["False", "net.training", "True"])
def test_a_module_is_asked_to_freeze_its_parameters(mended: Mended, value: str) -> None:
    text = "from torch import nn\n\nnet = nn.Linear(2, 1)\nnet.{}\n"
    assert mended(text.format(f"requires_grad = {value}"), "TDR117") == text.format(f"requires_grad_({value})")
