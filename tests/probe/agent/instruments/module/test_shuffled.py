"""Rows of one input that a copy gets in another order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from torch_doctor.trace import InputTried

if TYPE_CHECKING:
    from collections.abc import Callable

SCRIPT = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.gate = nn.Linear(4, 2), nn.Linear(3, 2), nn.Parameter(torch.zeros(()))
        self.drop, self.kept, self.two = nn.Dropout(0.5), None, 2
        self.register_buffer("calls", torch.zeros(()))
    def forward(self, x, y):
        self.calls += 1
        {line}
net = Net()
for x, y in DataLoader(TensorDataset(torch.randn(32, 4), torch.randn(32, 3)), batch_size=8):
    {call}
"""


def script(line: str, call: str = "print(net(x, y).sum().item(), torch.rand(1).item(), net.calls.item())") -> str:
    return SCRIPT.format(line=line, call=call)


@pytest.mark.parametrize(
    ("line", "changed"),
    [
        ("return self.a(x)", {"x": True, "y": False}),
        ("return self.drop(self.a(x))", {"x": True, "y": False}),
        ("return self.a(x) + self.gate * self.b(y)", {"x": True, "y": True}),
        ("y = self.a(x); return y", {"x": True, "y": False}),
        ("self.kept = y.max(); return self.a(x)", {"x": True, "y": True}),
        ("return self.a(torch.zeros_like(x)) + y.new_zeros(2)", {}),
        ("return self.a(x) + torch.rand(())", {"x": True, "y": False}),
        ("return self.a(x) * 1 + y.max()", {"x": True, "y": True}),
    ],
)
def test_results_change_by_what_is_read(seen: Callable[..., list[Any]], line: str, changed: dict[str, bool]) -> None:
    events = seen(script(line), InputTried, "shuffled")
    assert {each.name: each.changed for each in events} == changed
    assert all(each.module == "Net" and each.site.row == 12 for each in events)


@pytest.mark.parametrize(
    ("line", "changed"),
    [
        ("low, high = x[:, :2], x[:, 2:]; return self.a(low.repeat(1, 2))", {"low": True, "high": False}),
        ("low = x[:, : self.two]; return self.a(x[:, 2:].repeat(1, 2))", {"low": False}),
        ("low = x[:, : self.two]; low = low + 1; return self.a(x)", {"low": True}),
        ("low = x[:, : int(y.sum())]; x = x * 2; return self.a(x)", {}),
        ("one = x[0]; return self.a(x)", {}),
        ("_low = x[:, :2]; return self.a(x[:, 2:].repeat(1, 2))", {}),
    ],
)
@pytest.mark.parametrize("part", [False, True])
def test_slices_are_tried_in_the_model_and_in_its_parts(
    seen: Callable[..., list[Any]], line: str, changed: dict[str, bool], *, part: bool
) -> None:
    text = script(line)
    if part:
        whole = "class Whole(Net):\n    def __init__(self):\n        super().__init__()\n        self.net = Net()\n"
        whole += (
            "    def forward(self, x, y):\n        self.calls += 1\n        return self.net(x + 0.5, y)\nnet = Whole()"
        )
        text = text.replace("net = Net()", whole)
    found = {each.name: each.changed for each in seen(text, InputTried, "shuffled") if each.name not in {"x", "y"}}
    assert found == changed


@pytest.mark.parametrize(
    "line",
    [
        "seen.append(y); return self.a(x)",
        "z = y * 2; print(z.sum() > 1e9); return self.a(x)",
    ],
)
def test_what_goes_to_others_is_left_alone(seen: Callable[..., list[Any]], line: str) -> None:
    found = seen("seen = []\n" + script(line).lstrip(), InputTried, "shuffled")
    assert {each.name for each in found} == {"x"}


@pytest.mark.parametrize(
    ("line", "optional"),
    [
        ("return self.a(x)", False),
        ("z = self.b(y).relu(); return self.a(x)", False),
        ("return self.a(x) + (self.b(y) if self.two < 2 else 0)", True),
        ("if self.two > 1: return self.a(x)\n        return self.a(x) + self.b(y)", True),
        ("return self.a(x) + (self.two < 2 and self.b(y) or 0)", True),
        ("z = self.later(y); return self.a(x)", True),
    ],
)
def test_what_a_branch_or_a_method_may_leave_out(seen: Callable[..., list[Any]], line: str, *, optional: bool) -> None:
    text = script(line).replace("    def forward", "    def later(self, y):\n        return 0\n    def forward")
    assert {each.optional for each in seen(text, InputTried, "shuffled") if each.name == "y"} == {optional}


def test_a_parameter_may_be_there_for_another_class(seen: Callable[..., list[Any]]) -> None:
    other = "class Other(nn.Module):\n    def forward(self, x, y):\n        return x + y\nnet = Net()"
    found = seen(script("return self.a(x)").replace("net = Net()", other), InputTried, "shuffled")
    assert found == []


def test_two_calls_of_one_place_are_looked_at(seen: Callable[..., list[Any]]) -> None:
    assert len(seen(script("return self.a(x)"), InputTried, "shuffled")) == 4


@pytest.mark.parametrize(
    "call", ["print(net(x, x.sum(1)[:, None].expand(8, 3)[:1]))", "print(net(x, torch.ones(8, 3)))"]
)
def test_what_has_no_rows_of_its_own_is_not_tried(seen: Callable[..., list[Any]], call: str) -> None:
    events = seen(script("return self.a(x)", call), InputTried, "shuffled")
    assert not [each for each in events if each.name == "y"]


def test_the_model_and_random_numbers_stay_as_they_are(observe: Callable[..., Any]) -> None:
    text = script("return self.drop(self.a(x))")
    assert observe(text, "shuffled").output == observe(text).output
