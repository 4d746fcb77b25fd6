"""What the probe says of a finding, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.rule import Finding

COLOURS = {
    Verdict.CONFIRMED: "red",
    Verdict.REFUTED: "green",
    Verdict.NOT_REACHED: "yellow",
    Verdict.UNDECIDED: "yellow",
}
NOT_REACHED = "the probe run did not reach this line, or not under conditions that would expose the bug"


def claims(finding: Finding) -> Iterator[str]:
    """The evidence behind the verdict, a line each; for a finding that was not reached, what that means."""
    yield from (evidence.claim for evidence in finding.evidence)
    if finding.verdict is Verdict.NOT_REACHED and not finding.evidence:
        yield NOT_REACHED


def main_claim(finding: Finding) -> str:
    """Return the first claim with a number, or the first of all; empty if there is none."""
    numbered = (evidence.claim for evidence in finding.evidence if evidence.value is not None)
    return next(numbered, None) or next(claims(finding), "")


def sentence(finding: Finding) -> str:
    """Verdict and evidence on one line; empty where the probe did not run."""
    if finding.verdict is None:
        return ""
    said = "; ".join(claims(finding))
    return f"probe: {finding.verdict.value}{f': {said}' if said else ''}"
