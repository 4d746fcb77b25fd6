"""Names of a `forward` that go into nothing, and slices that are kept under one."""

from __future__ import annotations

import pytest

from tests.said import said

SCRIPT = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
seen = []
def helper(x):
    return x.relu() + 1
def keeper(x):
    seen.append(x)
    return x
class Part(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 4)
    def forward(self, x):
        return self.body(x).relu()
class Keeping(Part):
    def forward(self, x):
        self.kept = x
        return self.body(x)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.part, self.keeping, self.layer = Part(), Keeping(), nn.Linear(4, 4)
    def double(self, x):
        return 2 * self.part(x)
    def drop(self, a, b):
        return self.part(a)
    def twice(self, a, b):
        return self.drop(b=b, a=a) + self.drop(a, b)
    def again(self, a, b, times=2):
        return self.again(a, b, times - 1) if times else a
    def default(self, a, b=None):
        return a
    def planned(self, a, b):
        raise NotImplementedError
    def kept(self, a, b):
        self.last = b
        return a
    def looks(self, a, b):
        return a + len(locals())
    def forward(self, x, y):
        {body}
net = Net()
for x, y in DataLoader(TensorDataset(torch.randn(32, 4), torch.randn(32, 4)), batch_size=8):
    net(x, y).sum().backward()
"""
NOTHING = "does not use `{}`"


@pytest.mark.parametrize(
    "body",
    [
        "return self.part(x)",
        "z = self.part(y); return self.part(x)",
        "z = y; z = z + 1; w = torch.relu(z); return self.part(x)",
        "x * y; return self.part(x)",
        "z = helper(self.double(y)); return self.part(x)",
        "y = self.part(x); return y",
        "z, w = y[:, :2], y[:, 2:]; return self.part(x)",
        "return self.drop(x, y)",
        "return self.drop(x, b=y)",
        "return self.twice(x, y)",
        "return self.part(self.drop(x, y))",
        "z = self.drop(y, y); return self.drop(x, z)",
        "z = y.view(-1).unsqueeze(0); z = self.layer(x); return self.part(x)",
    ],
)
def test_what_goes_into_nothing(body: str) -> None:
    assert said(SCRIPT.format(body=body), NOTHING.format("y"))


@pytest.mark.parametrize(
    "body",
    [
        "return self.part(x) + y",
        "return self.drop(y, x)",
        "return self.drop(x, y) + y",
        "return self.drop(*(x, y))",
        "return self.drop(**{{'a': x, 'b': y}})",
        "return self.drop(x, y.relu_())",
        "return self.again(x, y)",
        "return self.default(x, y)",
        "return self.planned(x, y)",
        "return self.kept(x, y)",
        "return self.looks(x, y)",
        "use = self.drop if x.sum() > 0 else self.double; return use(x, y)",
        "z = keeper(y); return self.part(x)",
        "z = self.keeping(y); return self.part(x)",
        "z = self.part(y); self.kept = z; return self.part(x)",
        "x.add_(y); return self.part(x)",
        "x += y; return self.part(x)",
        "x[y > 0] = 0; return self.part(x)",
        "z = [row for row in y]; return self.part(x)",
        "_ = y; return self.part(x)",
        "del y; return self.part(x)",
        "for row in y: x = x + 1\n        return self.part(x)",
        "z = self.unknown(y); return self.part(x)",
        "print(y); return self.part(x)",
        "return (lambda: self.part(x) + y)()",
        "z = y; return eval('x + z')",
        "w = x; w, z = y, x; return w + z",
    ],
)
def test_what_goes_somewhere_or_nobody_knows(body: str) -> None:
    assert not said(SCRIPT.format(body=body), NOTHING.format("y"))


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ("z, w = y[:, :2], y[:, 2:]; return self.part(x) + z.sum()", "w"),
        ("z = y[:, 0]; return self.part(x) + y[:, 1:].sum()", "z"),
        ("z = y[:, 0]; z = z + 1; return self.part(x) + y[:, 1, None] + y.size(0)", ""),
        ("z = y[:, 3]; return self.part(x) + y[:, 1].sum() + y.size(0)", "z"),
        ("z = y[:, 3]; return self.part(x) + y[:, 1].sum() + y.mean()", ""),
        ("z = y[:, 1:]; return self.part(x) + y[:, :2].sum()", ""),
        ("z = y[:, -1]; return self.part(x) + y[:, 0].sum()", ""),
        ("z = y[2:]; return self.part(x) + y[:2].sum()", ""),
        ("_z = y[:, 2:]; return self.part(x) + y[:, :2].sum()", ""),
    ],
)
def test_slices_of_which_nothing_else_has_the_elements(body: str, name: str) -> None:
    script = SCRIPT.format(body=body)
    assert [each for each in ("z", "_z", "w", "y") if said(script, NOTHING.format(each))] == ([name] if name else [])
