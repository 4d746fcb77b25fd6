"""The last line of a scan: counts, verdicts and next steps in at most 100 columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from torch_doctor.cli.summary import summary
from torch_doctor.edits import Change, Proposal
from torch_doctor.rule import Finding, Level, Verdict
from torch_doctor.scan import Report
from torch_doctor.scan.options import Incomplete
from torch_doctor.trace import Site

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

HINTS = ("confirm with --probe",)


def found(
    level: Level, many: int = 1, *, safe: bool | None = None, verdict: Verdict | None = None, files: int = 1
) -> Iterable[Finding]:
    """Findings of one level in some files; `safe`: how they are fixed, None where they are not."""
    for number in range(many):
        site = Site(f"{number % files}.py", 1, 1, 1, 2)
        fix = None if safe is None else Proposal((Change(site, ""),), safe=safe)
        yield Finding("TDR101", "missing-zero-grad", level, "it is wrong", site, verdict=verdict, fix=fix)


def line(*groups: Iterable[Finding], files: int = 1, hints: Sequence[str] = HINTS, unresolved: int = 0) -> str:
    findings = [finding for group in groups for finding in group]
    incomplete = [Incomplete(f"{n}.py", Site(f"{n}.py", 1, 1, 1, 2), "why", loop=True) for n in range(unresolved)]
    return summary(Report(findings=findings, files=files, incomplete=incomplete), hints)


def test_findings_fixes_and_the_probe_are_one_line() -> None:
    errors = [found(Level.ERROR, 1, safe=True), found(Level.ERROR, 4, safe=False)]
    assert line(*errors, found(Level.WARNING, 1, safe=True), found(Level.WARNING)) == (
        "Found 5 errors and 2 warnings in 1 file. --fix fixes 2; --unsafe-fixes 4 more; confirm with --probe."
    )


@pytest.mark.parametrize(
    ("groups", "files", "said"),
    [
        ([found(Level.ERROR)], 1, "Found 1 error in 1 file. Confirm with --probe."),
        ([found(Level.WARNING, 3, files=2)], 9, "Found 3 warnings in 2 of 9 files. Confirm with --probe."),
        (
            [found(Level.ERROR, safe=False), found(Level.WARNING), found(Level.ADVICE, 2)],
            1,
            "Found 1 error, 1 warning and 2 pieces of advice in 1 file. --fix --unsafe-fixes fixes 1.",
        ),
        ([found(Level.ADVICE)], 1, "Found 1 piece of advice in 1 file. Confirm with --probe."),
    ],
)
def test_levels_and_files_are_counted(groups: list[Iterable[Finding]], files: int, said: str) -> None:
    assert line(*groups, files=files) == said


def test_verdicts_follow_the_counts() -> None:
    groups = [
        found(Level.ERROR, 2, verdict=Verdict.CONFIRMED),
        found(Level.ERROR, verdict=Verdict.NOT_REACHED, safe=True),
    ]
    assert line(*groups, hints=()) == "Found 3 errors in 1 file: 2 confirmed, 1 not reached. --fix fixes 1."


def test_a_scan_without_findings_counts_files_and_unresolved_training_loops() -> None:
    assert line(files=3, hints=()) == "No findings in 3 files."
    assert line(files=3, unresolved=2, hints=["try --probe"]) == (
        "No findings in 3 files (2 training loops unresolved). Try --probe."
    )


def test_next_steps_are_left_out_where_the_line_would_be_longer_than_100_columns() -> None:
    groups = [found(level, 1000, safe=safe, files=1000) for level in Level for safe in (True, False)]
    said = line(*groups, files=12345)
    assert (
        said == "Found 2000 errors, 2000 warnings and 2000 pieces of advice in 1000 of 12345 files. --fix fixes 3000."
    )
    script = "experiments/" * 9 + "train.py"
    assert line(files=3, hints=[f"try `torch-doctor checkup {script}`", "-v lists what was skipped"]) == (
        "No findings in 3 files. -v lists what was skipped."
    )
    assert max(len(line(found(Level.ERROR, many, safe=True), hints=HINTS * 3)) for many in (1, 10, 100)) <= 100
