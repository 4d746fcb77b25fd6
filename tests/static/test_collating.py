"""What a collate function pads is known in the loop: tests ask what a loss of these targets is said to do."""

from __future__ import annotations

import pytest

from tests.said import said

SCRIPT = """
import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

{collate}

rows = [(torch.randint(1, 9, (length,)), torch.randint(1, 4, (length,))) for length in (2, 5, 3, 4)]
loader = DataLoader(rows, batch_size=2, shuffle=True, collate_fn={name})
model = nn.Sequential(nn.Embedding(9, 4), nn.Linear(4, 4))
criterion = nn.CrossEntropyLoss()
for batch in loader:
    criterion(model(batch[{words}]).flatten(0, 1), batch[{tags}].flatten()).backward()
"""
COUNTS = "loss `criterion` of `batch[{}].flatten()` includes padding"
TUPLE = """
def collate(batch):
    words, tags = zip(*batch)
    return pad_sequence(words, batch_first=True), pad_sequence(tags, batch_first=True)
"""
CUT = """
def collate(batch):
    words, tags = zip(*batch)
    length = min(len(each) for each in words)
    return pad_sequence(words, batch_first=True)[:, :length], pad_sequence(tags, batch_first=True)[:, :length]
"""
OBJECT = """
class Collate:
    def __init__(self, fill):
        self.fill = fill

    def padded(self, parts):
        return pad_sequence(list(parts), batch_first=True, padding_value=self.fill)

    def __call__(self, batch):
        return {"words": self.padded(row[0] for row in batch), "tags": self.padded(row[1] for row in batch)}
"""
ENDLESS = """
def collate(batch):
    for _ in range(10_000):
        batch = [(words.flip(0), tags.flip(0)) for words, tags in batch if len(words) and len(tags)]
    words, tags = zip(*batch)
    return unseen(pad_sequence(words, batch_first=True)), unseen(pad_sequence(tags, batch_first=True))
"""


def losses(collate: str, name: str = "collate", words: str = "0", tags: str = "1") -> list[str]:
    """What is said of the padding in the loss."""
    script = SCRIPT.format(collate=collate.strip(), name=name, words=words, tags=tags)
    return said(script, "padding")


def test_parts_of_a_tuple_are_padded() -> None:
    assert set(losses(TUPLE)) == {COUNTS.format(1)}


def test_an_object_makes_a_dict_and_says_what_fills_up() -> None:
    assert set(losses(OBJECT, "Collate(2)", '"words"', '"tags"')) == {COUNTS.format('"tags"')}


@pytest.mark.parametrize("collate", [CUT, ENDLESS])
def test_what_may_be_cut_or_is_out_of_sight_is_not_told(collate: str) -> None:
    assert losses(collate) == []
