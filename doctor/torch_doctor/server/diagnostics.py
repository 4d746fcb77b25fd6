"""Findings as an editor shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol.types import CodeDescription, Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity

from torch_doctor.report.links import url_of
from torch_doctor.rule import Level

if TYPE_CHECKING:
    from torch_doctor.rule import Finding
    from torch_doctor.server.places import Places

SOURCE = "torch-doctor"
SEVERITIES = {
    Level.ERROR: DiagnosticSeverity.Error,
    Level.WARNING: DiagnosticSeverity.Warning,
    Level.ADVICE: DiagnosticSeverity.Information,
}


def diagnostic(finding: Finding, places: Places, *, related: bool) -> Diagnostic:
    """A finding; `related`: the editor shows what belongs to it, which is its trail."""
    message = f"{finding.headline}\nhelp: {finding.help}" if finding.help else finding.headline
    url = url_of(finding.code)
    return Diagnostic(
        range=places.range(finding.site),
        message=message,
        severity=SEVERITIES[finding.level],
        code=finding.code,
        code_description=None if url is None else CodeDescription(url),
        source=SOURCE,
        related_information=_trail(finding, places) if related else None,
    )


def diagnostics(places: Places, *, related: bool) -> dict[str, list[Diagnostic]]:
    """What was found in each part of a document, by its URI; parts with nothing are there, too."""
    found: dict[str, list[Diagnostic]] = {part.uri: [] for part in places.document.parts}
    for finding, _ in places.findings():
        part = places.part(finding.site)
        if part is not None:
            found[part.uri].append(diagnostic(finding, places, related=related))
    return found


def _trail(finding: Finding, places: Places) -> list[DiagnosticRelatedInformation]:
    steps = ((places.location(step.site), step.note) for step in finding.trail)
    return [DiagnosticRelatedInformation(location, note) for location, note in steps if location is not None]
