"""Proves fixes by a second run of the scripts: the evidence is gone, and nothing new has appeared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from torch_doctor import scan as scanning
from torch_doctor.mending.rounds import with_proposals
from torch_doctor.mending.verifying import ANYTHING, may_change
from torch_doctor.probing import saw_nothing
from torch_doctor.rule import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.mending.rounds import Key, Mended
    from torch_doctor.mending.verifying import Compared
    from torch_doctor.rule import Finding
    from torch_doctor.scan import Options, Report


class Proof(Struct):
    """What the second run says of each applied fix, by its number, and the fixes to revert, each with a line on it."""

    said: dict[int, Finding] = field(default_factory=dict)
    failed: dict[Key, str] = field(default_factory=dict)


def proved(options: Options, first: Report, mended: Mended) -> tuple[Report, Proof]:
    """Run the fixed scripts; return what is left, and what the run says of the fixes."""
    asked = {(each.code, mended.moved[number]): number for number, each in enumerate(mended.findings)}
    expected = tuple(
        replace(mended.findings[number], site=site, fix=None, edits=(), verdict=None, evidence=())
        for (_, site), number in asked.items()
        if mended.findings[number].verdict is Verdict.CONFIRMED
    )
    report = with_proposals(scanning.scan(replace(options, expected=expected, cache=None)), options)
    proof, kept = Proof(), []
    by_source = {rule.code for rule in options.rules if rule.only_confirms}
    wanted = {(each.code, each.site) for each in expected}
    for finding in report.findings:
        number = asked.get((finding.code, finding.site))
        if number is None or (finding.code, finding.site) not in wanted:
            kept.append(finding)
            continue
        proof.said[number] = finding
        if finding.verdict is Verdict.CONFIRMED and finding.code not in by_source:
            origin = mended.origins[number]
            line = f"{origin[1]}: fix for {origin[0]} reverted: the probe still confirms the bug: {_claims(finding)}"
            proof.failed[origin] = line
    report.findings[:] = kept
    if not proof.failed and (new := _new(first, mended, kept)):
        blamed = mended.origins[_nearest(mended, new)]
        proof.failed[blamed] = (
            f"{blamed[1]}: fix for {blamed[0]} reverted: it introduces {new.code} {new.name} at {new.site}"
        )
    return report, proof


GONE = "the bug no longer occurs"


def verdicts(options: Options, mended: Mended, proof: Proof, compared: Compared) -> Iterator[str]:
    """Return a line for each applied fix: verified, or why not."""
    for number, fixed in enumerate(mended.findings):
        site = mended.origins[number][1]
        after = proof.said.get(number)
        gone = after is not None and saw_nothing(after)
        claims = "" if after is None else GONE if gone else _claims(after)
        if after is None:
            word = "no verdict" if fixed.verdict is None else fixed.verdict.value
            why = f"the first probe run did not confirm it ({word})"
        elif after.verdict is Verdict.CONFIRMED:
            why = "only the source can show that the bug is gone"
        elif after.verdict is not Verdict.REFUTED and not gone:
            why = claims or "the second probe run did not reach it"
        else:
            why = compared.reason and f"{claims or GONE}, but reported values were not compared: {compared.reason}"
        anything = may_change(options, fixed.code) & ANYTHING
        held = "; no other reported value changed" if not compared.reason else ""
        if anything:
            held = f"; reported values may change because the fix changes {min(each.value for each in anything)}"
            why = "" if why and compared.reason and why.endswith(compared.reason) else why
        verdict = f"fixed, but not verified: {why}" if why else f"verified: {claims or GONE}"
        yield f"{site}: {fixed.code} {verdict}{held}"


def _claims(finding: Finding) -> str:
    return "; ".join(evidence.claim for evidence in finding.evidence)


def _new(first: Report, mended: Mended, kept: list[Finding]) -> Finding | None:
    """Return a finding that the run shows only with the fixes: there are more of its rule in the file than before."""
    before = [(each.code, each.site.path) for each in (*first.findings, *first.left_out)]
    fixed = [(code, site.path) for code, site in set(mended.origins)]
    after = [(each.code, each.site.path) for each in kept]
    for finding, kind in zip(kept, after, strict=True):
        if finding.verdict is Verdict.CONFIRMED and after.count(kind) > max(0, before.count(kind) - fixed.count(kind)):
            return finding
    return None


def _nearest(mended: Mended, finding: Finding) -> int:
    """Return the number of the fix that lies nearest to a finding."""
    site = finding.site
    return min(
        mended.moved, key=lambda each: (mended.moved[each].path != site.path, abs(mended.moved[each].row - site.row))
    )
