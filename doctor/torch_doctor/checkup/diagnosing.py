"""What speaks for and against each cause of a symptom, after the rungs that decide it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

from torch_doctor.checkup.telling.words import MEANINGS
from torch_doctor.rule import Level, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

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
    return sorted((_answer(cause, checked) for cause in symptom.causes), key=lambda answer: answer.likelihood)


def _answer(cause: Cause, checked: Checkup) -> Answer:
    found = Answer(cause)
    own = [each for each in checked.findings if each.code in cause.codes]
    found.findings = [each for each in own if each.verdict is not Verdict.REFUTED]
    found.speaks_for += (_said(each) for each in found.findings)
    found.speaks_against += (
        f"{each.code} at {each.site} is refuted" for each in own if each.verdict is Verdict.REFUTED
    )
    failed = False
    for rung in _rungs(cause, checked):
        title = MEANINGS[rung.name].title
        told = {"failed": found.speaks_for, "passed": found.speaks_against}.get(rung.status, found.open)
        told.append(f"{title} {rung.status}: {rung.reason}")
        failed |= rung.status == "failed"
    if cause.codes and not own:
        found.speaks_against.append(f"no finding of {', '.join(cause.codes)}")
    serious = [each for each in found.findings if each.level is not Level.ADVICE]
    if any(each.verdict is Verdict.CONFIRMED for each in serious):
        found.likelihood = PROVED
    elif failed or serious:
        found.likelihood = LIKELY if failed or not cause.rungs else POSSIBLE
    elif found.findings:
        found.likelihood = POSSIBLE
    elif found.speaks_against and not found.open:
        found.likelihood = UNLIKELY
    return found


def _rungs(cause: Cause, checked: Checkup) -> Iterator[Rung]:
    return (rung for rung in checked.rungs if rung.name in cause.rungs)


def _said(finding: Finding) -> str:
    verdict = "" if finding.verdict is None else f", {finding.verdict.value}"
    return f"{finding.code} at {finding.site}{verdict}: {finding.message}"
