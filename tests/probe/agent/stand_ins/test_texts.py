"""torchtext, where it is not installed: tokenizers, vocabularies and data sets of sentences."""

from __future__ import annotations

from typing import Any

import pytest

from torch_doctor.probe.agent.replicas import texts

Run = Any  # arguments to outcome
Write = Any


def test_a_vocabulary_has_its_specials_first_and_a_number_for_what_it_does_not_know() -> None:
    made = texts.build_vocab_from_iterator([["a", "b", "a"], ["c", "a", "b"]], min_freq=2, specials=["<unk>"])
    made.set_default_index(made["<unk>"])
    assert made.get_itos() == ["<unk>", "a", "b"]
    assert made(["a", "c", "b"]) == [1, 0, 2]


@pytest.mark.parametrize(("name", "classes"), [("AG_NEWS", 4), ("IMDB", 2)])
def test_a_data_set_gives_its_parts_with_classes_from_one(name: str, classes: int) -> None:
    train, test = texts.data_set(name)()
    assert {label for label, _ in train} == set(range(1, classes + 1))
    assert len(list(test)) == texts.TEST
    assert len(list(texts.data_set(name)(split="test"))) == texts.TEST


@pytest.mark.usefixtures("farm")
def test_a_classifier_of_sentences_trains(run: Run, write: Write) -> None:
    write(
        "train.py",
        """
import torch
from torch import nn
from torch.utils.data import DataLoader
from torchtext.data.utils import get_tokenizer
from torchtext.datasets import AG_NEWS
from torchtext.vocab import build_vocab_from_iterator

tokenizer = get_tokenizer("basic_english")
vocab = build_vocab_from_iterator(map(tokenizer, (text for _, text in AG_NEWS(split="train"))), specials=["<unk>"])
vocab.set_default_index(vocab["<unk>"])

def collate(batch):
    labels = torch.tensor([label - 1 for label, _ in batch])
    rows = [torch.tensor(vocab(tokenizer(text))) for _, text in batch]
    return labels, torch.cat(rows), torch.tensor([0, *map(len, rows[:-1])]).cumsum(0)

model = nn.Sequential(nn.EmbeddingBag(len(vocab), 8))
head = nn.Linear(8, 4)
optimizer = torch.optim.SGD([*model.parameters(), *head.parameters()], lr=1.0)
for labels, words, places in DataLoader(list(AG_NEWS(split="train")), batch_size=8, shuffle=True, collate_fn=collate):
    optimizer.zero_grad()
    nn.functional.cross_entropy(head(model[0](words, places)), labels).backward()
    optimizer.step()
""",
    )
    outcome = run("scan", "train.py", "--probe", "--isolated")
    assert "reached 0 optimizer steps" not in outcome.err
    assert "reached 6 optimizer steps" in outcome.err
