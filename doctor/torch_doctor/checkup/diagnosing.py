"""What speaks for and against each cause of a symptom, after the rungs that decide it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

from torch_doctor.checkup.telling.words import MEANINGS, standing
from torch_doctor.rule import Level, Verdict

if TYPE_CHECKING:
    from torch_doctor.checkup.causes import Cause
    from torch_doctor.checkup.outcome import Checkup, Rung
    from torch_doctor.checkup.symptoms import Symptom
    from torch_doctor.rule import Finding

PROVED, LIKELY, POSSIBLE, OPEN, UNLIKELY = range(5)
LIKELIHOODS = {
    PROVED: "confirmed",
    LIKELY: "likely",
    POSSIBLE: "possible",
    OPEN: "not decided",
    UNLIKELY: "unlikely",
}
"""What is said of a cause, the most likely first."""
OVERFIT = "overfit-one-batch"
STAYS = "does not fall"
RATES = frozenset({"steps too large", "steps too small"})
"""The kinds of failures of a loss: nothing makes it fall, or another learning rate does."""


class Answer(Struct):
    """A cause with what speaks for it and against it; `open` is what could have decided it and did not."""

    cause: Cause
    likelihood: int = OPEN
    findings: list[Finding] = field(default_factory=list)
    speaks_for: list[str] = field(default_factory=list)
    speaks_against: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)


def answers(symptom: Symptom, checked: Checkup) -> list[Answer]:
    """The causes of a symptom, the most likely first; those of which as much is known stay in the order of the table."""
    return sorted((_answer(cause, symptom, checked) for cause in symptom.causes), key=lambda answer: answer.likelihood)


def _answer(cause: Cause, symptom: Symptom, checked: Checkup) -> Answer:
    found = Answer(cause)
    own = [each for each in checked.findings if each.code in cause.codes]
    found.findings = [each for each in own if each.verdict is not Verdict.REFUTED]
    found.speaks_for += (said(each) for each in found.findings)
    found.speaks_against += (
        f"{each.code} at {each.site} is refuted" for each in own if each.verdict is Verdict.REFUTED
    )
    shown = False
    for rung in checked.rungs:
        shown |= _weigh(rung, found, symptom.measured_by)
    if cause.codes and not own:
        found.open.append(f"no findings of {', '.join(cause.codes)}")
    serious = [each for each in found.findings if each.level is not Level.ADVICE]
    if any(each.verdict is Verdict.CONFIRMED for each in serious):
        found.likelihood = PROVED
    elif shown or (serious and not cause.rungs):
        found.likelihood = LIKELY
    elif found.findings or found.speaks_for:
        found.likelihood = POSSIBLE
    elif found.speaks_against:
        found.likelihood = UNLIKELY
    return found


def _weigh(rung: Rung, found: Answer, measured_by: tuple[str, ...]) -> bool:
    """Put what a rung says where it belongs, and say whether it supports the cause.

    It supports a cause by a failure of its kind, or by a fact about the cause where it did not pass. It contradicts the cause where
    it passed, although the symptom and the cause would have shown there. A loss that falls at another learning rate contradicts all
    that would keep it from falling. Everything else is no evidence.
    """
    cause = found.cause
    told = f"{MEANINGS[rung.name].title} {rung.status}: {rung.reason}"
    facts = [f"{each.label}: {each.value}" for each in rung.evidence if each.label in cause.facts]
    found.speaks_for += facts
    fails = bool({*rung.about} & {*cause.kinds})
    supports = rung.status != "passed" and (fails or bool(facts))
    if supports:
        found.speaks_for += [told] * fails
    elif rung.name in measured_by and (
        (rung.status == "passed" and rung.name in cause.excluded_by)
        or (rung.name == OVERFIT and STAYS in cause.kinds and RATES & {*rung.about})
    ):
        found.speaks_against.append(told)
    elif rung.name in cause.rungs and rung.status != "failed":
        found.open.append(told)
    return supports


def others(found: list[Answer], findings: list[Finding]) -> list[Finding]:
    """The findings that no listed cause has, those that matter most first."""
    listed = {(each.code, each.site) for answer in found for each in answer.findings}
    return [each for each in standing(findings) if (each.code, each.site) not in listed]


def said(finding: Finding) -> str:
    """A finding in a line."""
    verdict = "" if finding.verdict is None else f", {finding.verdict.value}"
    return f"{finding.code} at {finding.site}{verdict}: {finding.headline}"
