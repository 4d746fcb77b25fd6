"""How well a sentence fits each symptom."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct

from torch_doctor.checkup.reading.circumstances import CIRCUMSTANCES
from torch_doctor.checkup.reading.clauses import clauses
from torch_doctor.checkup.reading.lexicon import SUBJECTS
from torch_doctor.checkup.reading.signs import SIGNS

if TYPE_CHECKING:
    from collections.abc import Iterable

ABOUT, BEHAVES, WHEN = 1.0, 2.0, 3.0
"""What a subject, a behaviour and a circumstance weigh."""
OTHER = {
    "accumulation": 4.0, "frozen": 3.5, "half": 3.5, "multi": 3.5, "confused": 3.0, "exhausted": 3.0, "imbalance":
    3.0, "jumps": 2.2, "memory": 3.0, "anyinput": 2.5, "batchsize": 2.5, "best": 2.5, "deserved": 1.8, "evalmode": 2.5, "plateau":
    2.5, "paper": 2.0, "repeated": 2.0, "run": 2.0, "bad": 1.5, "changes": 1.5, "class": 1.5, "falls": 1.5, "first":
    1.5, "gradient": 1.5, "grows": 1.5, "high": 1.5, "learns": 1.5, "loader": 1.5, "low": 1.5, "lr": 1.5, "same":
    1.5, "gpu": 1.2, "always": 1.0, "good": 1.0, "progressive": 1.0, "training": 0.9, "model": 0.8, "time": 0.8,
    "batch": 0.5, "error": 0.5, "input": 0.5, "later": 0.5, "single": 0.5, "uses": 0.5, "data": 0.3,
}  # fmt: skip
"""Concepts that weigh something else."""
CERTAIN = 1.0
"""What a sign weighs at least that is enough alone."""
MORE = 0.05
"""What each further sign that a sentence shows adds."""


class Part(Struct, frozen=True):
    """What one clause has to say: one of each group of concepts, and none of those that are `absent`."""

    wanted: tuple[frozenset[str], ...]
    absent: frozenset[str]


class Sign(Struct, frozen=True):
    """What has to be said: parts that each hold in one clause, of alternatives, and concepts that must not be there."""

    parts: tuple[Part, ...]
    absent: frozenset[str]
    more: float


def weighed(said: str) -> list[tuple[float, str]]:
    """The names of the symptoms that a sentence may be about, the best reading first, each with what speaks for it."""
    told = clauses(said)
    found = [(_weight(told, signs), name) for name, signs in _signs().items()]
    if max(found)[0] < CERTAIN:
        found += [(_partly(told, signs), name) for name, signs in _signs().items()]
    best = {name: weight for weight, name in sorted(found) if weight > 0}
    return sorted(((weight, name) for name, weight in best.items()), key=lambda pair: -pair[0])


@cache
def _signs() -> dict[str, list[Sign]]:
    return {name: [_sign(text.strip()) for text in texts.split(",")] for name, texts in SIGNS.items()}


def _sign(text: str) -> Sign:
    text, _, more = text.partition("+")
    words = text.split()
    parts = tuple(_part(word) for word in words if not word.startswith("-"))
    return Sign(parts, frozenset(word[1:] for word in words if word.startswith("-")), float(more or 0))


def _part(word: str) -> Part:
    ones = word.split("/")
    wanted = tuple(frozenset(one.split("|")) for one in ones if not one.startswith("-"))
    return Part(wanted, frozenset(one[1:] for one in ones if one.startswith("-")))


def _weight(told: list[frozenset[str]], signs: Iterable[Sign]) -> float:
    """What the heaviest sign that a sentence shows weighs, and a little for the others."""
    everything = frozenset[str]().union(*told)
    shown = [
        weight + sign.more
        for sign in signs
        if not sign.absent & everything and (weight := _shown(told, sign)) is not None
    ]
    return max(shown) + MORE * min(len(shown) - 1, 4) if shown else 0.0


def _partly(told: list[frozenset[str]], signs: Iterable[Sign]) -> float:
    """What the part of a sign that a sentence shows weighs, less what is missing."""
    everything = frozenset[str]().union(*told)
    return max(
        sum(max(map(_weighs, one & everything)) if one & everything else -min(map(_weighs, one)) for one in wanted) / 2
        for sign in signs
        if not sign.absent & everything
        for wanted in [[one for part in sign.parts for one in part.wanted]]
    )


def _shown(told: list[frozenset[str]], sign: Sign) -> float | None:
    """What a sign weighs where a sentence shows it."""
    total = 0.0
    for part in sign.parts:
        clauses_of = (each for each in told if not part.absent & each and all(one & each for one in part.wanted))
        clause = next(clauses_of, None)
        if clause is None:
            return None
        total += sum(max(map(_weighs, one & clause)) for one in part.wanted)
    return total


def _weighs(concept: str) -> float:
    if concept in OTHER:
        return OTHER[concept]
    return ABOUT if concept in SUBJECTS else WHEN if concept in CIRCUMSTANCES else BEHAVES


def related(said: str) -> list[str]:
    """The names of the symptoms of whose signs a sentence shows some part, those of which it shows most first."""
    told = frozenset[str]().union(*clauses(said))
    found = {name: max(_related(told, sign) for sign in signs) for name, signs in _signs().items()}
    return sorted((name for name, part in found.items() if part), key=lambda name: -found[name])


def _related(told: frozenset[str], sign: Sign) -> float:
    """The part of what a sign wants that is said."""
    wanted = [one for part in sign.parts for one in part.wanted]
    return sum(bool(one & told) for one in wanted) / len(wanted)
