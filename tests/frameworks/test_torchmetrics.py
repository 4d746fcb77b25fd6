"""What a run shows of metric objects of torchmetrics."""

from __future__ import annotations

from typing import Any

import pytest

SCRIPT = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torchmetrics.classification import {metric}

PLACES = 6


def lists(n):
    values = torch.rand(n, PLACES)
    return TensorDataset(values, values.argsort(dim=1))


class Sorter(nn.Module):
    def __init__(self):
        super().__init__()
        self.ranks = nn.Parameter(0.1 * torch.randn(PLACES, 16))
        self.item = nn.Linear(1, 16)

    def forward(self, values):
        return torch.einsum("rd,bid->bri", self.ranks, self.item(values[..., None]))


train_loader = DataLoader(lists(120), batch_size=20, shuffle=True)
val_loader = DataLoader(lists(60), batch_size=20)
model = Sorter()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
score = {metric}(num_classes=PLACES)
for epoch in range(3):
    model.train()
    for values, order in train_loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(values).flatten(0, 1), order.flatten()).backward()
        optimizer.step()
    model.eval()
    score.reset()
    with torch.no_grad():
        for values, order in val_loader:
            score.update({scores}, order)
    print(score.compute())
"""


@pytest.mark.frameworks("torchmetrics")
@pytest.mark.parametrize("metric", ["MulticlassAccuracy", "MulticlassF1Score"])
@pytest.mark.parametrize(
    ("scores", "verdicts"),
    [("model(values)", [("TDR409", "confirmed")]), ("model(values).transpose(1, 2)", [])],
)
def test_a_run_shows_that_a_metric_chooses_along_another_dimension_than_the_loss(
    run: Any, write: Any, metric: str, scores: str, verdicts: list[tuple[str, str]]
) -> None:
    write("train.py", SCRIPT.format(metric=metric, scores=scores))
    found = run("scan", "train.py", "--isolated", "--probe", "--output-format", "json").json
    assert [(each["code"], each["verdict"]) for each in found] == verdicts
