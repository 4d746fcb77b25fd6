"""One line per finding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.report.links import url_of
from torch_doctor.report.paint import LEVEL_COLOURS
from torch_doctor.report.verdict_words import COLOURS

if TYPE_CHECKING:
    from torch_doctor.report.reported import Look, Reported
    from torch_doctor.rule import Finding
    from torch_doctor.trace import Site


def render(reported: Reported, look: Look) -> str:
    """All findings."""
    return "".join(f"{headline(finding, look)}{_verdict(finding, look)}\n" for finding in reported.findings)


def _verdict(finding: Finding, look: Look) -> str:
    verdict = finding.verdict
    return "" if verdict is None else look.paint(f" [{verdict.value}]", "bold", COLOURS[verdict])


def render_verdict(finding: Finding, look: Look) -> str:
    """The verdict of a finding that was shown before."""
    return f"{which(finding, look)}{_verdict(finding, look)}\n" if finding.verdict is not None else ""


def headline(finding: Finding, look: Look) -> str:
    """Return place, rule, fix and message."""
    return f"{which(finding, look)}{fix_sign(finding, look)}: {finding.headline}"


def fix_sign(finding: Finding, look: Look) -> str:
    """Return ` [*]` for a safe fix, ` [*unsafe]` for an unsafe one, and nothing without a fix."""
    if finding.fix is None:
        return ""
    return look.paint(f" [{'*' if finding.fix.safe else '*unsafe'}]", "cyan")


def which(finding: Finding, look: Look) -> str:
    """Where and which rule."""
    code = look.paint.linked(finding.code, url_of(finding.code), "bold", LEVEL_COLOURS[finding.level])
    return f"{place(finding.site, look)} {code} {finding.name}"


def place(site: Site, look: Look) -> str:
    """Return the path, the cell of a notebook, row and column, with a colon behind each."""
    cell = "" if site.cell is None else f"cell {site.cell}:"
    return f"{look.paint(site.path, 'bold')}{look.paint(f':{cell}{site.row}:{site.column}:', 'dim')}"
