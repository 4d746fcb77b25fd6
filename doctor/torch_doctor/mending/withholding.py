"""Withholds the fixes that would cause another finding: of conflicting ones as few as possible."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from torch_doctor.mending.readers import Reads, is_read
from torch_doctor.mending.rounds import in_rounds, key, with_proposals

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from torch_doctor.mending.rounds import Key, Mended
    from torch_doctor.rule import Finding
    from torch_doctor.scan import Options, Report

MOST_TRIES = 24
"""So many times a set of fixes is tried before those of the same file are withheld together."""


FAR = 1_000_000
"""Lines between a fix and a finding in another file."""


def without_harm(
    report: Report, options: Options, withdrawn: Mapping[Key, str], *, unsafe: bool, repairs: bool = True
) -> tuple[Report, Mended, dict[Key, str]]:
    """Apply the fixes of a report as `in_rounds` does, except those that would cause another finding.

    Returns what is left, what was done, and all fixes that were withheld, each with the reason.
    """

    def attempt(withheld: Mapping[Key, str]) -> tuple[Report, Mended]:
        return in_rounds(report, options, withheld, reads, unsafe=unsafe, repairs=repairs)

    reads = Reads(replace(options, probe=None, cache=None))
    withheld = dict(withdrawn)
    left, mended = attempt(withheld)
    tries = MOST_TRIES
    while mended.harm:
        candidates = _candidates(report, mended, withheld)
        if not candidates:
            break
        step = _step(candidates, mended, withheld, attempt, tries)
        tries -= len(candidates)
        withheld |= step[0]
        left, mended = step[1]
    return left, mended, withheld


def _step(
    candidates: list[Key],
    mended: Mended,
    withheld: Mapping[Key, str],
    attempt: Callable[[Mapping[Key, str]], tuple[Report, Mended]],
    tries: int,
) -> tuple[dict[Key, str], tuple[Report, Mended]]:
    """Return the fix to withhold that leaves the least harm, or all of them if no single one leaves less, and what follows."""
    best = None
    least = len(mended.harm)
    for each in candidates[: max(tries, 0)]:
        one = {each: _reason(mended.harm)}
        found = attempt({**withheld, **one})
        if len(found[1].harm) < least:
            best, least = (one, found), len(found[1].harm)
        if not least:
            break
    if best is not None:
        return best
    every = dict.fromkeys(candidates, _reason(mended.harm))
    return every, attempt({**withheld, **every})


def _reason(harm: list[Finding]) -> str:
    others = f" and {len(harm) - 1} more" * (len(harm) > 1)
    first = harm[0].message if is_read(harm[0]) else f"it would introduce {harm[0].code} {harm[0].name}"
    return f"{first}{others}"


def _candidates(report: Report, mended: Mended, withheld: Mapping[Key, str]) -> list[Key]:
    """Return the fixes of the report that were applied: first those that change lines which the new findings name."""
    places = [site for finding in mended.harm for site in finding.places()]
    offered = {key(each) for each in report.findings}
    distances: dict[Key, int] = {}
    for number, origin in enumerate(mended.origins):
        own = mended.moved[number]
        near = [abs(site.row - own.row) for site in places if (site.path, site.cell) == (own.path, own.cell)]
        if origin in offered and origin not in withheld:
            distances[origin] = min(near, default=FAR)
    return sorted(distances, key=distances.__getitem__)


def harmless(report: Report, options: Options) -> Report:
    """Add to each finding its fix, except where that would cause another finding: all are tried together, once."""
    report = with_proposals(report, options)
    if any(finding.fix is not None for finding in report.findings):
        *_, withheld = without_harm(report, options, {}, unsafe=True, repairs=False)
        report.findings[:] = [
            replace(finding, fix=None) if key(finding) in withheld else finding for finding in report.findings
        ]
    return report
