"""What a sentence says: the concepts of each of its clauses, with negations taken into account."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct

from torch_doctor.checkup.reading.circumstances import CIRCUMSTANCES
from torch_doctor.checkup.reading.lexicon import (
    BEHAVIOURS,
    JOINTS,
    NEGATIONS,
    SILENT,
    SUBJECTS,
)
from torch_doctor.checkup.reading.tokens import BREAK, NOT, corrected, stem, tokens

if TYPE_CHECKING:
    from collections.abc import Iterator

REACH = 6
"""How many words after a negation it may be about."""
NEGATED: dict[str, tuple[str, ...]] = {
    "receives": ("none", "zero"),
    "reaches": ("low", "bad"),
    "reproduces": ("reproduces", "low"),
    "falls": ("stuck",), "grows": ("stuck",), "changes": ("stuck",), "learns": ("stuck", "unlearnt"), "training":
    ("stuck", "unlearnt"), "overfit": ("stuck", "unlearnt"), "generalizes": ("overfit",), "stuck": ("changes",),
    "differs": ("same",), "same": ("differs",), "matches": ("differs",), "good": ("bad",), "bad": ("good",),
    "works": ("broken",), "stable": ("jumps",), "released": ("grows",), "deserved": ("bad", "deserved"), "uses":
    ("idle",), "finite": ("nan",), "sees": ("bad", "zero"), "high": ("low",), "low": ("high",), "zero": (), "nan":
    (), "always": (), "run": ("run", "differs"), "frozen": ("frozen", "broken"), "slow": (), "plateau": (),
    "explodes": (), "jumps": (), "restarts": (), "random": (),
}  # fmt: skip
"""What is said where the opposite is denied."""
NOTHING = "nothing"
"""Denies what goes before it."""
MOVES = frozenset({"learns", "falls", "grows", "training", "good"})
"""What may stop."""
UP = frozenset({"higher", "greater", "larger", "bigger", "more", "above", "exceeds"})
BECOMES = ("become", "get", "go", "turn", "grow")
"""The verbs for which `~` stands in the lexicon."""
COMPARES = ("than", "above", "below", "exceeds")
"""What stands between two things that are compared."""
DOWN = frozenset({"lower", "less", "smaller", "below"})
TOPICS = frozenset(
    {"loss", "accuracy", "metric", "result", "validation", "training", "memory", "gpu", "gradient", "weights", "output"}
    | {"model", "inference"}
)
"""Subjects of which a sentence says something; the others only stand beside them."""


class Said(Struct, frozen=True):
    """A word, or several, with the concepts that it stands for."""

    words: tuple[str, ...]
    concepts: frozenset[str] = frozenset()


def clauses(said: str) -> list[frozenset[str]]:
    """The concepts of each clause; one without a subject is about that of the clause before."""
    items = _negated(list(_items(said)))
    found: list[frozenset[str]] = []
    subjects: frozenset[str] = frozenset()
    for group in _merged(list(_segments(items))):
        told = frozenset(concept for item in group for concept in item.concepts)
        own = told & SUBJECTS.keys()
        found.append(told if own else told | subjects)
        subjects = own or subjects
    compared = _compared(items)
    return [*found, compared] if compared else found


@cache
def _lexicon() -> dict[tuple[str, ...], frozenset[str]]:
    """The concepts of every word, and of every several words, by their stems."""
    found: dict[tuple[str, ...], set[str]] = {}
    families = (*SUBJECTS.items(), *BEHAVIOURS.items(), *CIRCUMSTANCES.items())
    for concept, phrases in (*((concept, words.split()) for concept, words in families), ("", SILENT)):
        for phrase in phrases:
            for verb in BECOMES if "~" in phrase else ("",):
                stems = tuple(stem(word) for word in phrase.replace("~", verb).split("_") if word)
                found.setdefault(stems, set()).update({concept} - {""})
    return {stems: frozenset(concepts) for stems, concepts in found.items()}


@cache
def _known() -> frozenset[str]:
    """The single words of the lexicon, as they are spelt."""
    texts = (*SUBJECTS.values(), *BEHAVIOURS.values(), *CIRCUMSTANCES.values())
    return frozenset(word for text in texts for phrase in text.split() for word in phrase.split("_") if word.isalpha())


def _items(said: str) -> Iterator[Said]:
    """The words of a sentence, those of one expression together."""
    lexicon = _lexicon()
    stems_known = {part for stems in lexicon for part in stems}
    words = [
        word if stem(word) in stems_known or word in NEGATIONS or word in JOINTS else corrected(word, _known())
        for word in tokens(said)
    ]
    stems = [stem(word) for word in words]
    place = 0
    longest = max(map(len, lexicon))
    while place < len(words):
        for size in range(min(longest, len(words) - place), 0, -1):
            concepts = lexicon.get(tuple(stems[place : place + size]))
            if concepts is not None:
                yield Said(tuple(words[place : place + size]), concepts)
                place += size
                break
        else:
            word = words[place]
            yield Said((NOT if word in NEGATIONS and word != NOTHING else word,))
            place += 1


def _negated(items: list[Said]) -> list[Said]:
    """The same with what is denied, or stops, turned into what is then the case."""
    turned = list(items)
    for place, item in enumerate(items):
        stops = "progress_stopped" in item.concepts
        fails = "bad" in item.concepts and [other.words for other in items[place + 1 : place + 2]] != [("to",)]
        if not stops and (item.words[-1] not in NEGATIONS or fails):
            continue
        near = _meant(items, place)
        if near is None and NOTHING in item.words and place and items[place - 1].concepts & NEGATED.keys():
            near = place - 1  # "learns nothing"
        if near is None and stops and place and items[place - 1].concepts & MOVES:
            near = place - 1  # "the improvement stopped"
        if near is not None:
            concepts = items[near].concepts
            moves = stops and concepts & MOVES
            now = (concepts - NEGATED.keys()) | {"plateau"} if moves else _denied(concepts)
            turned[near] = Said(items[near].words, now)
            if "reaches" in concepts:
                _missed(turned, near)
        elif any(other.concepts & {"gradient", "output"} for other in items[place + 1 : place + 2]):
            other = items[place + 1]
            turned[place + 1] = Said(other.words, other.concepts | {"none", "zero"})
    return turned


def _missed(items: list[Said], place: int) -> None:
    """Turn a zero that is not reached into a loss, or whatever it is, that stays: "does not reach zero"."""
    for near in range(place + 1, min(place + 1 + REACH, len(items))):
        if _divides(items[near]):
            return
        if items[near].concepts & {"zero", "low"}:
            items[near] = Said(items[near].words, (items[near].concepts - {"zero", "low"}) | {"stuck"})


def _meant(items: list[Said], place: int) -> int | None:
    """Where the word is that a negation is about."""
    for near in range(place + 1, min(place + 1 + REACH, len(items))):
        if _divides(items[near]):
            return None
        about = items[near].concepts & NEGATED.keys()
        if about - {"training"} or (about and not _behaves(items[near + 1 : near + 4])):
            return near
    return None


def _denied(concepts: frozenset[str]) -> frozenset[str]:
    rest = concepts - NEGATED.keys()
    return rest.union(*(NEGATED[concept] for concept in concepts & NEGATED.keys()))


def _behaves(items: list[Said]) -> bool:
    return any(item.concepts & BEHAVIOURS.keys() for item in items)


def _divides(item: Said) -> bool:
    return item.words[0] == BREAK or item.words[0] in JOINTS


def _segments(items: list[Said]) -> Iterator[list[Said]]:
    """The parts between punctuation and joints, and those in which another subject gets another behaviour."""
    part: list[Said] = []
    for place, item in enumerate(items):
        if _divides(item):
            yield part
            part = []
            continue
        rest = []
        for other in items[place + 1 :]:
            if _divides(other):
                break
            rest.append(other)
        if part and _complete(part) and _opens(part, item, rest):
            yield part
            part = []
        part.append(item)
    yield part


def _complete(part: list[Said]) -> bool:
    told = frozenset[str]().union(*(item.concepts for item in part))
    return bool(told & TOPICS and told & BEHAVIOURS.keys())


def _opens(part: list[Said], item: Said, rest: list[Said]) -> bool:
    """Whether a word begins a new statement after a complete one, because what a statement needs follows."""
    follows = frozenset[str]().union(*(other.concepts for other in rest))
    told = frozenset[str]().union(*(each.concepts for each in part))
    leads = next(each.concepts for each in part if each.concepts & (TOPICS | BEHAVIOURS.keys()))
    if leads & TOPICS:
        return bool(item.concepts & TOPICS - told and follows & BEHAVIOURS.keys())
    return bool(item.concepts & BEHAVIOURS.keys() and follows & TOPICS - told)


def _merged(parts: list[list[Said]]) -> Iterator[list[Said]]:
    """Parts that say something; what only names a subject belongs to what follows, or else to what went before."""
    waiting: list[Said] = []
    for part in parts:
        waiting = [*waiting, *part]
        if _behaves(waiting):
            yield waiting
            waiting = []
    if waiting:
        yield waiting


def _compared(items: list[Said]) -> frozenset[str]:
    """Whether validation is said to be better, or worse, than training."""
    words = [word for item in items for word in item.words]
    between = next((word for word in words if word in COMPARES), None)
    if between is None:
        return frozenset()
    place = next(number for number, item in enumerate(items) if between in item.words)
    left = frozenset[str]().union(*(item.concepts for item in items[:place]))
    right = frozenset[str]().union(*(item.concepts for item in items[place + 1 :]))
    before = words[: words.index(between) + 1][-5:]
    validation_first = "training" in right and bool({"validation", "inference"} & left)
    if not validation_first and not ("training" in left and {"validation", "inference"} & right):
        return frozenset()
    up = bool(UP & {*before}) or "better" in before
    down = bool(DOWN & {*before}) or "worse" in before
    if up == down:
        return frozenset()
    costs = bool({"loss", "error"} & (left | right)) and not {"accuracy", "metric"} & (left | right)
    better = up
    if costs and not {"better", "worse"} & {*before}:
        better = not up
    return frozenset({"beats" if better == validation_first else "trails"})
