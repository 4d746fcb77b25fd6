"""The Reviewdog Diagnostic Format, for comments on a review; a fix becomes a suggestion."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from torch_doctor.report.details import explanation, message
from torch_doctor.report.links import url_of
from torch_doctor.report.reported import INCOMPLETE
from torch_doctor.rule import Level, Verdict

if TYPE_CHECKING:
    from torch_doctor.report.reported import Incomplete, Look, Reported, Source
    from torch_doctor.rule import Finding

SEVERITIES = {Level.ERROR: "ERROR", Level.WARNING: "WARNING", Level.ADVICE: "INFO"}


def render(reported: Reported, look: Look) -> str:  # noqa: ARG001 - every format is called alike
    """One JSON object."""
    result = {
        "source": {"name": "torch-doctor", "url": "https://github.com/torch-doctor/torch-doctor"},
        "severity": "WARNING",
        "diagnostics": [
            *(_diagnostic(finding, reported) for finding in reported.findings),
            *(_information(each, reported) for each in reported.incomplete),
        ],
    }
    return json.dumps(result, indent=2, ensure_ascii=False) + "\n"


def _diagnostic(finding: Finding, reported: Reported) -> dict[str, Any]:
    site = finding.site
    location: dict[str, Any] = {"path": site.path}
    diagnostic: dict[str, Any] = {
        "message": "\n".join([message(finding), *explanation(finding)]),
        "location": location,
        "severity": SEVERITIES[Level.ADVICE if finding.verdict is Verdict.REFUTED else finding.level],
        "code": {"value": finding.code, **({"url": url} if (url := url_of(finding.code)) else {})},
    }
    if site.cell is not None:
        start, end = reported.row_in_file(site), reported.last_row_in_file(site)
        location["range"] = {"start": {"line": start}, "end": {"line": end}}
    else:
        rows = _rows(reported.sources.get(site.path))
        location["range"] = _range(rows, (site.row, site.column), (site.end_row, site.end_column))
        if suggestion := _suggestion(finding, rows):
            diagnostic["suggestions"] = [suggestion]
    return diagnostic


def _information(incomplete: Incomplete, reported: Reported) -> dict[str, Any]:
    """Return the diagnostic of a file that was not analyzed completely."""
    site = incomplete.site
    start, end = reported.row_in_file(site), reported.last_row_in_file(site)
    return {
        "message": f"{incomplete}",
        "location": {"path": site.path, "range": {"start": {"line": start}, "end": {"line": end}}},
        "severity": "INFO",
        "code": {"value": INCOMPLETE},
    }


def _rows(source: Source | None) -> list[str]:
    return [] if source is None else source.shown


def _suggestion(finding: Finding, rows: list[str]) -> dict[str, Any] | None:
    """The changes as a single one, from the first to the last: each suggestion of a review is taken or left alone."""
    changes = () if finding.fix is None else finding.fix.changes
    if not changes or not rows or any(change.site.path != finding.site.path for change in changes):
        return None
    changes = tuple(sorted(changes, key=lambda change: change.site))
    start = done = (changes[0].site.row, changes[0].site.column)
    text = ""
    for change in changes:
        text += _between(rows, done, (change.site.row, change.site.column)) + change.content
        done = (change.site.end_row, change.site.end_column)
    return {"range": _range(rows, start, done), "text": text}


def _between(rows: list[str], start: tuple[int, int], end: tuple[int, int]) -> str:
    """The source from one place, row and column, to another."""
    stretch = rows[start[0] - 1 : end[0]]
    if not stretch:
        return ""
    stretch[-1] = stretch[-1][: end[1] - 1]
    stretch[0] = stretch[0][start[1] - 1 :]
    return "\n".join(stretch)


def _range(rows: list[str], start: tuple[int, int], end: tuple[int, int]) -> dict[str, Any]:
    return {"start": _position(rows, *start), "end": _position(rows, *end)}


def _position(rows: list[str], row: int, column: int) -> dict[str, int]:
    """A place as the format counts: columns in bytes of UTF-8."""
    before = rows[row - 1][: column - 1] if row <= len(rows) else ""
    wider = len(before.encode("utf-8", "surrogatepass")) - len(before)
    return {"line": row, "column": column + wider}
