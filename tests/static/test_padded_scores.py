"""Which scores count all labels, those that a loss leaves out among them."""

from __future__ import annotations

import pytest

from tests.said import said

SCRIPT = """
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from elsewhere import Fields, cleaned, ignored
data = {data}
model = nn.Conv2d(3, 4, 3, padding=1)
criterion = nn.CrossEntropyLoss(ignore_index=255)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in DataLoader(data, batch_size=4, shuffle=True):
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()
right = total = 0
for x, y in DataLoader(data, batch_size=4):
    guess = model(x).argmax(1)
{body}
"""
KNOWN = "TensorDataset(torch.randn(8, 3, 6, 6), torch.zeros(8, 6, 6, dtype=torch.long))"
UNKNOWN = "Fields()"
COUNTING = [
    "score = (guess == y).float().mean()",
    "score = torch.mean((guess == y).float())",
    "score = guess.eq(y).sum().item() / y.numel()",
    "score = (guess == y).sum() / torch.numel(y)",
    "score = (guess == y).sum().item() / (y.size(0) * y.size(1) * y.size(2))",
    "score = (guess == y).sum().item() / (len(data) * 6 * 6)",
    "b, h, w = y.shape; score = (guess == y).sum().item() / (b * h * w)",
    "score = np.mean(guess.cpu().numpy() == y.cpu().numpy())",
    "score = (guess.numpy() == y.numpy()).mean()",
    "score = np.sum(guess.numpy() == y.numpy()) / y.numpy().size",
    "y = y.to('cpu').long(); score = (guess == y).float().mean()",
    "right += (guess == y).sum().item(); total += y.numel(); score = right / total",
]
RIGHT = [
    "valid = y != 255; score = (guess[valid] == y[valid]).float().mean()",
    "score = ((guess == y) & (y != 255)).sum() / y.numel()",
    "score = (guess == y).sum().item() / (y != 255).sum().item()",
    "score = ((guess == y).float() * (y != 255)).mean()",
    "score = (guess == y).flatten(1).all(dim=1).float().mean()",
    "y[y == 255] = 0; score = (guess == y).float().mean()",
    "guess[y == 255] = 255; score = (guess == y).float().mean()",
    "y = cleaned(y); score = (guess == y).float().mean()",
    "cleaned(y); score = (guess == y).float().mean()",
    "y = torch.where(y == 255, 0, y); score = (guess == y).float().mean()",
    "score = (guess[:, 1:] == y[:, 1:]).float().mean()",
    "score = (guess == y).sum().item() / len(y)",
]


def counts(body: str, data: str) -> bool:
    lines = "\n".join(f"    {line}" for line in body.split("; "))
    return any("counts padding" in line for line in said(SCRIPT.format(body=lines, data=data)))


@pytest.mark.parametrize("body", [*COUNTING, "score = (guess.view(-1) == y.view(-1)).sum().item() / len(y.view(-1))"])
def test_a_score_that_divides_by_the_number_of_all_labels_counts_them(body: str) -> None:
    assert counts(body, KNOWN)


@pytest.mark.parametrize("body", COUNTING)
def test_labels_of_which_nothing_is_known_but_the_loss_are_counted_too(body: str) -> None:
    assert counts(body, UNKNOWN)


@pytest.mark.parametrize("body", RIGHT)
@pytest.mark.parametrize("data", [KNOWN, UNKNOWN], ids=["known", "unknown"])
def test_labels_that_are_selected_weighted_or_changed_are_not_all_counted(body: str, data: str) -> None:
    assert not counts(body, data)


def test_a_loss_that_names_what_it_leaves_out_tells_so() -> None:
    text = SCRIPT.format(body="    pass", data=KNOWN)
    assert any("leaves out labels that are 255" in line for line in said(text))
