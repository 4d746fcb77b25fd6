"""Symptoms as people say them, and what decides them."""

from __future__ import annotations

import pytest

from torch_doctor.checkup.outcome import RUNGS
from torch_doctor.checkup.symptoms import SYMPTOMS, decided
from torch_doctor.rule import all_rules

CODES = {rule.code for rule in all_rules()}
SAID = [(phrase, symptom.name) for symptom in SYMPTOMS for phrase in (symptom.name, *symptom.phrases)]


@pytest.mark.parametrize(("said", "name"), SAID, ids=[said for said, _ in SAID])
def test_every_phrase_means_its_own_symptom(said: str, name: str) -> None:
    meant, _ = decided(said)
    assert meant is not None
    assert meant.name == name


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("My loss doesn\u2019t go down!", "the loss does not decrease"),
        ("Loss isn't decreasing at all", "the loss does not decrease"),
        ("NaN loss after a few steps", "the loss is nan"),
        ("val acc is noisy", "validation jumps"),
        ("OOM after 3 epochs", "memory grows"),
        ("GPU utilization is at 10 %", "the GPU is idle"),
        ("results differ from run to run", "two runs differ"),
        ("loaded checkpoint gives a different result", "the result is different after loading"),
        ("weights don't change", "some layers do not train"),
        ("validaton jumps", "validation jumps"),
    ],
)
def test_other_words_are_understood(said: str, name: str) -> None:
    meant, _ = decided(said)
    assert meant is not None
    assert meant.name == name


def test_what_may_be_several_is_not_decided() -> None:
    meant, near = decided("loss")
    assert meant is None
    assert "the loss is nan" in {symptom.name for symptom in near}


def test_what_is_no_symptom_is_none() -> None:
    assert decided("banana bread") == (None, [])


@pytest.mark.parametrize("symptom", SYMPTOMS, ids=[symptom.name for symptom in SYMPTOMS])
def test_what_decides_a_symptom_is_there(symptom: object) -> None:
    assert symptom.causes  # type: ignore[attr-defined]
    for cause in symptom.causes:  # type: ignore[attr-defined]
        assert cause.codes or cause.rungs, cause.what
        assert set(cause.codes) <= CODES
        assert set(cause.rungs) <= set(RUNGS)


def test_phrases_are_said_once() -> None:
    phrases = [phrase for symptom in SYMPTOMS for phrase in symptom.phrases]
    assert len(set(phrases)) == len(phrases)
