"""Metric objects of libraries that go on from one evaluation to the next, as the source alone shows them."""

from __future__ import annotations

import pytest

from tests.said import said

SCRIPT = """
import torch
import torchmetrics
from ignite.metrics import Accuracy
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

train_set = TensorDataset(torch.randn(64, 4), torch.randint(0, 3, (64,)))
test_loader = DataLoader(TensorDataset(torch.randn(32, 4), torch.randint(0, 3, (32,))), batch_size=8)
model = nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
metric = {metric}
for epoch in range(3):
    for x, y in DataLoader(train_set, batch_size=8, shuffle=True):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    {before}
    with torch.no_grad():
        for x, y in test_loader:
            {add}
    print(epoch, metric.compute())
    {after}
"""


def events(
    metric: str = "torchmetrics.Accuracy()",
    add: str = "metric.update(model(x), y)",
    before: str = "pass",
    after: str = "pass",
) -> set[str]:
    """What happens to the metric: it is added to, set back, and read."""
    lines = said(SCRIPT.format(metric=metric, add=add, before=before, after=after), " an object of `")
    return {"added" if "add a result" in line else "set back" if "set back" in line else "read" for line in lines}


@pytest.mark.parametrize(
    ("metric", "add"),
    [
        ("torchmetrics.Accuracy()", "metric.update(model(x), y)"),
        ("torchmetrics.Accuracy()", "metric(model(x), y)"),
        ("torchmetrics.Accuracy().to('cuda')", "metric.update(model(x).argmax(1), y)"),
        ("torchmetrics.MetricCollection([torchmetrics.Accuracy()])", "metric.update(model(x), y)"),
        ("Accuracy()", "metric.update((model(x), y))"),
    ],
)
def test_what_is_added_is_read_and_never_set_back(metric: str, add: str) -> None:
    assert events(metric, add) == {"added", "read"}


@pytest.mark.parametrize(
    "statement",
    [
        "metric.reset()",
        "for each in metric.values(): each.reset()",
        "unknown.reset_all(metric)",
        "metric.__init__()",
        "getattr(metric, 'reset')()",
    ],
)
def test_it_is_set_back_or_may_be(statement: str) -> None:
    assert "set back" in events(before=statement)
    assert "set back" in events(after=statement)


def test_values_of_other_things_are_not_added() -> None:
    assert events(add="metric.update(x.sum(), y)") == set()
