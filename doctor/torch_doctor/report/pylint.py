"""One line per finding as pylint writes them, for services that read its output."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.report.details import message

if TYPE_CHECKING:
    from torch_doctor.report.reported import Look, Reported
    from torch_doctor.rule import Finding


def render(reported: Reported, look: Look) -> str:  # noqa: ARG001 - every format is called alike
    """All findings."""
    return "".join(f"{_line(finding, reported)}\n" for finding in reported.findings)


def _line(finding: Finding, reported: Reported) -> str:
    said = " ".join(message(finding).split())
    return f"{finding.site.path}:{reported.row_in_file(finding.site)}: [{finding.code}] {said}"
