"""One line per finding as pylint writes them, for services that read its output."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.report.details import message
from torch_doctor.report.reported import INCOMPLETE

if TYPE_CHECKING:
    from torch_doctor.report.reported import Incomplete, Look, Reported
    from torch_doctor.rule import Finding


def render(reported: Reported, look: Look) -> str:  # noqa: ARG001 - every format is called alike
    """All findings, then the files that were not analyzed completely, as information."""
    findings = (_line(finding, reported) for finding in reported.findings)
    return "".join(f"{line}\n" for line in (*findings, *(_information(each, reported) for each in reported.incomplete)))


def _line(finding: Finding, reported: Reported) -> str:
    said = " ".join(message(finding).split())
    return f"{finding.site.path}:{reported.row_in_file(finding.site)}: [{finding.code}] {said}"


def _information(incomplete: Incomplete, reported: Reported) -> str:
    """Return the line of a file that was not analyzed completely."""
    site = incomplete.site
    return f"{site.path}:{reported.row_in_file(site)}: [I0000({INCOMPLETE}), ] {' '.join(f'{incomplete}'.split())}"
