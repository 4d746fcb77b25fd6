"""Mends what was found: in rounds, until nothing is left to do; a second run of the scripts proves it."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from msgspec.structs import replace

from torch_doctor import scan as scanning
from torch_doctor.fixes import rewrite
from torch_doctor.mending import with_proposals, without_harm
from torch_doctor.rule import Verdict
from torch_doctor.sources.source import NEWLINE

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from torch_doctor.cli.fixing import Fixing
    from torch_doctor.mending import Mended
    from torch_doctor.scan import Options, Report
    from torch_doctor.trace import Site


def mend(report: Report, options: Options, wanted: Fixing) -> tuple[Report, Mended]:
    """Mend what the report names; what is left afterwards, and what was done.

    A scan with the changes follows each round, in memory; files are written at the end, and with `--diff` not at all.
    With a probe the scripts are run once more, and what the run still shows is taken back.
    """
    withdrawn: dict[tuple[str, Site], str] = {}
    told: list[str] = []
    while True:
        left, mended, withdrawn = without_harm(report, options, withdrawn, unsafe=wanted.unsafe)
        mended.withdrawn += [line for line in told if line not in mended.withdrawn]
        if wanted.diff or not mended.after or options.overlay:
            return left, mended
        _write(mended, mended.after)
        if options.probe is None:
            return left, mended
        left, failed = _proved(options, mended)
        if not failed:
            return left, mended
        _write(mended, mended.before)
        told = mended.withdrawn
        withdrawn |= dict.fromkeys(failed, "")


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


def fixed_stdin(mended: Mended | None, options: Options) -> bytes:
    """Return the source that was read from stdin, with the fixes applied."""
    [(path, raw)] = options.overlay.items()
    return raw if mended is None else mended.after.get(path, raw)


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
