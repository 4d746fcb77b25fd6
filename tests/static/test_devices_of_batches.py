from __future__ import annotations

import pytest

from tests.said import said

SCRIPT = """
import torch
import torch.nn.functional as F
from torch import nn
from torchtext import data


def train(batches, model):
    model.cuda()
    optimizer = torch.optim.Adam(model.parameters())
    for batch in batches:
        feature, target = batch.text.cuda(), batch.label.cuda()
        optimizer.zero_grad()
        scores = model(feature)
        loss = F.cross_entropy(scores, target)
        loss.backward()
        optimizer.step()
        correct = (scores.argmax(1) == target).sum()
        print({printed})


train(data.BucketIterator(data.TabularDataset("a.tsv", "tsv", []), batch_size=32), nn.Linear(4, 2))
"""
TWO_DEVICES = "gets a tensor on the CPU and others on the GPU"


@pytest.mark.parametrize(
    "printed", ["100.0 * correct / batch.batch_size", "correct - batch.count", "loss * batch.rows"]
)
def test_a_part_of_a_batch_that_is_only_calculated_with_may_be_a_number(printed: str) -> None:
    assert not said(SCRIPT.format(printed=printed), TWO_DEVICES)


@pytest.mark.parametrize("printed", ["scores.argmax(1) == batch.label", "torch.cat([scores, batch.weights])"])
def test_a_part_of_a_batch_that_meets_scores_is_a_tensor(printed: str) -> None:
    assert said(SCRIPT.format(printed=printed), TWO_DEVICES)
