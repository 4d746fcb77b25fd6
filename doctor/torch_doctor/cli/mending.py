"""Mends what was found: in rounds, until nothing is left to do; a second run of the scripts proves it."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from torch_doctor import scan as scanning
from torch_doctor.cli.fixing import with_proposals
from torch_doctor.fixes import changed, joined, moved, readable, rewrite
from torch_doctor.rule import Verdict
from torch_doctor.sources.source import NEWLINE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from torch_doctor.cli.fixing import Fixing
    from torch_doctor.rule import Finding
    from torch_doctor.scan import Options, Report
    from torch_doctor.trace import Site

MOST_ROUNDS = 100


class Mended(Struct):
    """What was mended: the findings in order, and each touched file as it was and as it is now.

    `proofs` says of some findings what the second run showed, `withdrawn` which fixes it made us take back, and why.
    """

    findings: list[Finding] = field(default_factory=list)
    before: dict[Path, bytes] = field(default_factory=dict)
    after: dict[Path, bytes] = field(default_factory=dict)
    shown: dict[Path, str] = field(default_factory=dict)
    proofs: list[str] = field(default_factory=list)
    withdrawn: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    moved: dict[int, Site] = field(default_factory=dict)


def mend(report: Report, options: Options, wanted: Fixing) -> tuple[Report, Mended]:
    """Mend what the report names; what is left afterwards, and what was done.

    A scan with the changes follows each round, in memory; files are written at the end, and with `--diff` not at all.
    With a probe the scripts are run once more, and what the run still shows is taken back.
    """
    withdrawn: frozenset[tuple[str, Site]] = frozenset()
    told: list[str] = []
    while True:
        left, mended = _in_rounds(report, options, wanted, withdrawn)
        mended.withdrawn += told
        if wanted.diff or not mended.after:
            return left, mended
        _write(mended, mended.after)
        if options.probe is None:
            return left, mended
        left, failed = _proved(options, mended)
        if not failed:
            return left, mended
        _write(mended, mended.before)
        told = mended.withdrawn
        withdrawn |= failed


def _in_rounds(
    report: Report, options: Options, wanted: Fixing, withdrawn: frozenset[tuple[str, Site]]
) -> tuple[Report, Mended]:
    mended, first = Mended(), report
    refused: set[tuple[str, Site]] = set(withdrawn)
    plain = replace(options, probe=None, cache=None)
    judged = {(each.code, each.site): each for each in first.findings if each.verdict is not None}
    for _ in range(MOST_ROUNDS):
        possible = [
            finding
            for finding in report.findings
            if finding.fix is not None
            and (finding.fix.safe or wanted.unsafe)
            and (finding.code, finding.site) not in refused
        ]
        taken, changes = joined(possible)
        written: dict[Path, bytes] = {}
        for name, several in changes.items():
            path = report.sources[name].path
            try:
                raw = mended.after.get(path) or options.overlay.get(path) or path.read_bytes()
                new = changed(raw, several)
                if not readable(path, raw, new):
                    message = "the fix would not parse"
                    raise ValueError(message)  # noqa: TRY301 - as a file that has changed meanwhile
            except (OSError, ValueError) as error:
                refused |= {(each.code, each.site) for each in taken if _touches(each, name)}
                mended.errors.append(f"{name} is not changed: {getattr(error, 'strerror', None) or error}")
                break
            written[path] = new
            mended.before.setdefault(path, raw)
            mended.shown[path] = name
        else:
            if not written:
                break
            mended.after |= written
            mended.moved = {number: moved(site, changes) for number, site in mended.moved.items()}
            mended.moved |= {
                len(mended.findings) + number: moved(finding.site, changes) for number, finding in enumerate(taken)
            }
            mended.findings += (_as_judged(each, judged) for each in taken)
            judged = {(code, moved(site, changes)): each for (code, site), each in judged.items()}
            report = with_proposals(scanning.scan(replace(plain, overlay={**options.overlay, **mended.after})), options)
            still = {(finding.code, finding.site) for finding in report.findings}
            useless = {(each.code, each.site) for each in taken if (each.code, moved(each.site, changes)) in still}
            if useless:  # begin anew without what did not help
                return _in_rounds(first, options, wanted, withdrawn | useless)
    return report, mended


def _as_judged(finding: Finding, judged: Mapping[tuple[str, Site], Finding]) -> Finding:
    """A finding of a later round, which no run follows, with the verdict that it had at first."""
    before = judged.get((finding.code, finding.site))
    return finding if before is None else replace(finding, verdict=before.verdict, evidence=before.evidence)


def _touches(finding: Finding, name: str) -> bool:
    return finding.fix is not None and any(change.site.path == name for change in finding.fix.changes)


def _proved(options: Options, mended: Mended) -> tuple[Report, frozenset[tuple[str, Site]]]:
    """The report of a second run, and the findings whose evidence is still there; what the run says goes to `mended`."""
    asked = {
        (finding.code, mended.moved[number]): finding
        for number, finding in enumerate(mended.findings)
        if finding.verdict is Verdict.CONFIRMED
    }
    expected = tuple(
        replace(finding, site=site, fix=None, edits=(), verdict=None, evidence=())
        for (_, site), finding in asked.items()
    )
    report = with_proposals(scanning.scan(replace(options, expected=expected, cache=None)), options)
    failed = set()
    kept = []
    for finding in report.findings:
        before = asked.get((finding.code, finding.site))
        if before is None:
            kept.append(finding)
            continue
        claims = "; ".join(evidence.claim for evidence in finding.evidence)
        if finding.verdict is Verdict.CONFIRMED:
            failed.add((before.code, before.site))
            mended.withdrawn.append(
                f"{before.site}: the fix of {before.code} is withdrawn, the run still shows: {claims}"
            )
        elif finding.verdict is Verdict.REFUTED:
            mended.proofs.append(f"{before.site}: {before.code} verified: {claims}")
        else:
            why = claims or "the second run did not come there"
            mended.proofs.append(f"{before.site}: {before.code} mended, not verified: {why}")
    report.findings[:] = kept
    return report, frozenset(failed)


def _write(mended: Mended, contents: dict[Path, bytes]) -> None:
    for path, content in contents.items():
        try:
            rewrite(path, content)
        except OSError as error:  # noqa: PERF203 - the other files are still written
            mended.errors.append(f"{mended.shown[path]} cannot be written: {error.strerror}")


def differences(mended: Mended) -> Iterable[str]:
    """Each touched file as a unified diff."""
    for path, after in mended.after.items():
        name = mended.shown[path]
        before, now = (
            [line + "\n" for line in NEWLINE.split(text.decode("utf-8", "replace"))]
            for text in (mended.before[path], after)
        )
        for lines in (before, now):
            lines[-1] = lines[-1][:-1]
            if not lines[-1]:
                lines.pop()
        for line in difflib.unified_diff(before, now, name, name):
            yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
