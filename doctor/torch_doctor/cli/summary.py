"""The last line of a scan: how many findings there are, and what to do next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Level, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch_doctor.scan import Report

WIDTH = 100
"""Most columns of the line."""


def summary(report: Report, hints: Sequence[str]) -> str:
    """Return the line that counts the findings and their verdicts, followed by the next steps that fit in `WIDTH` columns.

    `hints` are next steps besides the fixes, the most important first.
    """
    line = _counts(report)
    verdicts = [
        f"{count} {verdict.value.replace('-', ' ')}" for verdict in Verdict if (count := _given(report, verdict))
    ]
    if verdicts:
        line += f": {', '.join(verdicts)}"
    opening = ". "
    for step in (*_of_fixes(report), *hints):
        added = opening + (step[0].upper() + step[1:] if opening == ". " else step)
        if len(line + added) < WIDTH:
            line += added
            opening = "; "
    return f"{line}."


def counted(number: int, noun: str) -> str:
    """Return the number with the noun in its singular or plural."""
    if number == 1:
        return f"1 {noun}"
    return f"{number} {noun.replace('piece', 'pieces') if ' of ' in noun else noun + 's'}"


def _counts(report: Report) -> str:
    loops = f" ({counted(report.unfollowed, 'training loop')} unresolved)" if report.unfollowed else ""
    if not report.findings:
        return f"No {'new ' * bool(report.left_out)}findings in {counted(report.files, 'file')}{loops}"
    levels = [
        counted(count, word)
        for level, word in ((Level.ERROR, "error"), (Level.WARNING, "warning"), (Level.ADVICE, "piece of advice"))
        if (count := sum(each.level is level and not each.condition for each in report.findings))
    ]
    if others := sum(bool(finding.condition) for finding in report.findings):
        levels.append(f"{counted(others, 'finding')} with other settings")
    found = " and ".join(filter(None, [", ".join(levels[:-1]), levels[-1]]))
    places = len({finding.site.path for finding in report.findings})
    files = counted(places, "file") if places >= report.files else f"{places} of {report.files} files"
    return f"Found {found} in {files}{loops}"


def _of_fixes(report: Report) -> Iterator[str]:
    """Yield how many findings each of the options fixes."""
    safe = sum(finding.fix is not None and finding.fix.safe for finding in report.findings)
    more = sum(finding.fix is not None and not finding.fix.safe for finding in report.findings)
    if safe:
        yield f"--fix fixes {safe}"
    if more:
        yield f"--unsafe-fixes {more} more" if safe else f"--fix --unsafe-fixes fixes {more}"


def _given(report: Report, verdict: Verdict) -> int:
    return sum(finding.verdict is verdict for finding in report.findings)
