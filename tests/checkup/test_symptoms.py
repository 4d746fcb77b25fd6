"""What decides a symptom, and how the symptoms are said."""

from __future__ import annotations

import pytest

from torch_doctor.checkup.outcome import RUNGS
from torch_doctor.checkup.reading.signs import SIGNS
from torch_doctor.checkup.symptoms import SYMPTOMS, Symptom
from torch_doctor.rule import all_rules

CODES = {rule.code for rule in all_rules()}


@pytest.mark.parametrize("symptom", SYMPTOMS, ids=[symptom.name for symptom in SYMPTOMS])
def test_what_decides_a_symptom_is_there(symptom: Symptom) -> None:
    assert symptom.causes
    for cause in symptom.causes:
        assert cause.codes or cause.rungs, cause.what
        assert set(cause.codes) <= CODES
        assert set(cause.rungs) <= set(RUNGS)


def test_every_symptom_has_signs() -> None:
    assert set(SIGNS) == {symptom.name for symptom in SYMPTOMS}


def test_examples_are_said_once() -> None:
    examples = [example for symptom in SYMPTOMS for example in symptom.examples]
    assert len(set(examples)) == len(examples)
