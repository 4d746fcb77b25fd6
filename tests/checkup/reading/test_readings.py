"""Sentences as people write them, and which symptom they are about."""

from __future__ import annotations

from pathlib import Path

import pytest

from torch_doctor.checkup.reading import near, readings
from torch_doctor.checkup.symptoms import BY_NAME, SYMPTOMS

EXAMPLES = [(said, symptom.name) for symptom in SYMPTOMS for said in (symptom.name, *symptom.examples)]
SENTENCES = [
    (said, name)
    for line in Path(__file__).with_name("sentences.tsv").read_text("utf-8").splitlines()
    for name, _, said in [line.partition("\t")]
]


def read(said: str) -> list[str]:
    return [symptom.name for symptom in readings(said)]


@pytest.mark.parametrize(("said", "name"), EXAMPLES, ids=[said for said, _ in EXAMPLES])
def test_every_example_means_its_own_symptom(said: str, name: str) -> None:
    assert read(said) == [name]


@pytest.mark.parametrize(("said", "name"), SENTENCES, ids=[said for said, _ in SENTENCES])
def test_a_sentence_is_read_as_it_is_meant(said: str, name: str) -> None:
    assert read(said) == [name]


def test_every_symptom_has_sentences() -> None:
    assert {name for _, name in SENTENCES} == set(BY_NAME)


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("the loss is not nan, it grows", "the loss explodes"),
        ("the loss does not grow, it is stuck", "the loss does not decrease"),
        ("training is fine but validation is not good", "training is fine and validation is bad"),
        ("the test accuracy is higher than that of training", "validation is better than it can be"),
        ("the training accuracy is higher than the test accuracy", "training is fine and validation is bad"),
        ("training loss is lower than validation loss", "training is fine and validation is bad"),
        ("training loss is higher than validation loss", "validation is better than it can be"),
        ("the accuracy drops, memory is fine", "accuracy is lower than expected"),
        ("memory grows, the accuracy is fine", "memory grows"),
    ],
)
def test_what_is_denied_and_what_is_compared_counts(said: str, name: str) -> None:
    assert read(said) == [name]


@pytest.mark.parametrize(
    ("said", "right"),
    [
        ("my validaton acuracy fluctates", "my validation accuracy fluctuates"),
        ("the gradiants are exploading", "the gradients are exploding"),
        ("Loss dosen't decrese", "Loss doesn't decrease"),
        ("memmory keeps incresing", "memory keeps increasing"),
    ],
)
def test_a_misspelt_sentence_is_read_as_the_right_one(said: str, right: str) -> None:
    assert read(said) == read(right)
    assert len(read(said)) == 1


def test_word_order_does_not_matter() -> None:
    assert read("nan is my loss") == read("my loss is nan") == ["the loss is nan"]


def test_what_is_no_symptom_is_none() -> None:
    assert read("banana bread") == []
    assert near("banana bread") == []


def test_a_subject_alone_is_no_reading_and_names_those_about_it() -> None:
    assert read("loss") == []
    assert "the loss is nan" in {symptom.name for symptom in near("loss")}
