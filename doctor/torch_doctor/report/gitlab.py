"""GitLab's Code Quality report: findings beside the changed lines of a merge request."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from torch_doctor.report.details import message
from torch_doctor.report.fingerprints import Fingerprints
from torch_doctor.report.reported import INCOMPLETE, from_checkout
from torch_doctor.rule import Level, Verdict

if TYPE_CHECKING:
    from torch_doctor.report.reported import Incomplete, Look, Reported
    from torch_doctor.rule import Finding
    from torch_doctor.trace import Site

SEVERITIES = {Level.ERROR: "major", Level.WARNING: "minor", Level.ADVICE: "info"}


def render(reported: Reported, look: Look) -> str:  # noqa: ARG001 - every format is called alike
    """One JSON list: the findings, then the files that were not analyzed completely."""
    fingerprints = Fingerprints(reported)
    issues = [_issue(finding, reported, fingerprints) for finding in reported.findings]
    issues += [_information(each, reported, fingerprints) for each in reported.incomplete]
    return json.dumps(issues, indent=2, ensure_ascii=False) + "\n"


def _issue(finding: Finding, reported: Reported, fingerprints: Fingerprints) -> dict[str, Any]:
    refuted = finding.verdict is Verdict.REFUTED
    return {
        "check_name": finding.code,
        "description": f"{finding.code} {finding.name}: {message(finding)}",
        "severity": SEVERITIES[Level.ADVICE if refuted else finding.level],
        "fingerprint": fingerprints.of(finding),
        "location": _location(finding.site, reported),
    }


def _information(incomplete: Incomplete, reported: Reported, fingerprints: Fingerprints) -> dict[str, Any]:
    return {
        "check_name": INCOMPLETE,
        "description": f"{incomplete}",
        "severity": SEVERITIES[Level.ADVICE],
        "fingerprint": fingerprints.of(incomplete),
        "location": _location(incomplete.site, reported),
    }


def _location(site: Site, reported: Reported) -> dict[str, Any]:
    begin, end = {"line": reported.row_in_file(site)}, {"line": reported.last_row_in_file(site)}
    if site.cell is None:
        begin["column"], end["column"] = site.column, site.end_column
    return {"path": from_checkout(site.path), "positions": {"begin": begin, "end": end}}
