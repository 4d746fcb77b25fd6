"""GitLab's Code Quality report: findings beside the changed lines of a merge request."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from torch_doctor.report.details import cell_and_line, message
from torch_doctor.report.fingerprints import Fingerprints
from torch_doctor.report.reported import from_checkout
from torch_doctor.rule import Level, Verdict

if TYPE_CHECKING:
    from torch_doctor.report.reported import Look, Reported
    from torch_doctor.rule import Finding

SEVERITIES = {Level.ERROR: "major", Level.WARNING: "minor", Level.ADVICE: "info"}


def render(reported: Reported, look: Look) -> str:  # noqa: ARG001 - every format is called alike
    """One JSON list."""
    fingerprints = Fingerprints(reported)
    issues = [_issue(finding, fingerprints) for finding in reported.findings]
    return json.dumps(issues, indent=2, ensure_ascii=False) + "\n"


def _issue(finding: Finding, fingerprints: Fingerprints) -> dict[str, Any]:
    site = finding.site
    begin, end = ((site.row, site.column), (site.end_row, site.end_column))
    if cell_and_line(site):
        begin = end = (1, 1)
    refuted = finding.verdict is Verdict.REFUTED
    return {
        "check_name": finding.code,
        "description": f"{finding.code} {finding.name}: {message(finding)}",
        "severity": SEVERITIES[Level.ADVICE if refuted else finding.level],
        "fingerprint": fingerprints.of(finding),
        "location": {
            "path": from_checkout(site.path),
            "positions": {
                "begin": {"line": begin[0], "column": begin[1]},
                "end": {"line": end[0], "column": end[1]},
            },
        },
    }
