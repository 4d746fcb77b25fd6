"""Reads a sentence as people write it: which symptom it is about."""

from __future__ import annotations

from torch_doctor.checkup.reading.weighing import related, weighed
from torch_doctor.checkup.symptoms import BY_NAME, Symptom

TIE = 0.04
"""How much less than the best another reading may weigh that is as good."""
LEAST = 0.4
"""What a reading weighs at least; a lighter one is a guess."""
MOST = 4


def readings(said: str) -> list[Symptom]:
    """The readings of a sentence that are equally good and lead to different work; mostly one, none where nothing fits."""
    name = said.strip().rstrip(".!?").lower()
    exact = next((each for each in BY_NAME.values() if each.name.lower() == name), None)
    if exact is not None:
        return [exact]
    found = [(weight, BY_NAME[name]) for weight, name in weighed(said) if weight >= LEAST]
    good = [symptom for weight, symptom in found if found[0][0] - weight < TIE]
    different = [
        each for number, each in enumerate(good) if all(each.causes != other.causes for other in good[:number])
    ]
    return different[:MOST]


def near(said: str) -> list[Symptom]:
    """The symptoms that share anything with what was said, where it is too little to read it."""
    return [BY_NAME[name] for name in related(said)][:MOST]
