"""Findings for programs: JSON and JSON lines, with ruff's keys and ours."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from torch_doctor.report.links import url_of
from torch_doctor.report.reported import INCOMPLETE
from torch_doctor.rule import Level

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.report.reported import Incomplete, Look, Reported
    from torch_doctor.rule import Evidence, Finding
    from torch_doctor.trace import Site

SEVERITIES = {Level.ERROR: "error", Level.WARNING: "warning", Level.ADVICE: "info"}


def render(reported: Reported, look: Look) -> str:  # noqa: ARG001 - every format is called alike
    """One JSON list."""
    return json.dumps(list(_records(reported)), indent=2, ensure_ascii=False) + "\n"


def render_lines(reported: Reported, look: Look) -> str:  # noqa: ARG001
    """One JSON object per line."""
    return "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in _records(reported))


def _records(reported: Reported) -> Iterator[dict[str, Any]]:
    yield from map(record, reported.findings)
    yield from map(_notification, reported.incomplete)


def _notification(incomplete: Incomplete) -> dict[str, Any]:
    """A file that was not analyzed completely: it has no code, as a syntax error in ruff's JSON."""
    return {
        **dict.fromkeys(("code", "fix", "url", "witness", "verdict", "help", "condition")),
        "name": INCOMPLETE,
        "message": f"{incomplete}",
        **_place(incomplete.site),
        "severity": "info",
        "level": "notification",
        "evidence": [],
        "trail": [],
    }


def record(finding: Finding) -> dict[str, Any]:
    """One finding; keys are never left out."""
    return {
        "code": finding.code,
        "name": finding.name,
        "message": finding.message,
        **_place(finding.site),
        "fix": _fix(finding),
        "url": url_of(finding.code),
        "severity": SEVERITIES[finding.level],
        "level": finding.level.value,
        "witness": finding.witness,
        "verdict": finding.verdict.value if finding.verdict else None,
        "evidence": [_evidence(evidence) for evidence in finding.evidence],
        "trail": [{**_place(step.site), "note": step.note} for step in finding.trail],
        "help": finding.help,
        "condition": finding.condition or None,
    }


def _place(site: Site) -> dict[str, Any]:
    return {
        "filename": site.path,
        "cell": site.cell,
        "location": {"row": site.row, "column": site.column},
        "end_location": {"row": site.end_row, "column": site.end_column},
    }


def _fix(finding: Finding) -> dict[str, Any] | None:
    """The changes that mend it, as ruff writes them."""
    if finding.fix is None:
        return None
    return {
        "applicability": "safe" if finding.fix.safe else "unsafe",
        "message": finding.help or None,
        "edits": [{"content": change.content, **_place(change.site)} for change in finding.fix.changes],
    }


def _evidence(evidence: Evidence) -> dict[str, Any]:
    return {
        "claim": evidence.claim,
        "value": evidence.value,
        "unit": evidence.unit,
        "site": None if evidence.site is None else _place(evidence.site),
    }
