"""A finding in plain words, for formats that know a file and a line and nothing more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.report.verdict_words import sentence
from torch_doctor.rule import Level

if TYPE_CHECKING:
    from torch_doctor.rule import Finding
    from torch_doctor.trace import Site

LEVELS = {Level.ERROR: "error", Level.WARNING: "warning", Level.ADVICE: "advice"}


def cell_and_line(site: Site) -> str:
    """Where in a notebook: `cell 3, line 1`; empty for a plain file."""
    return "" if site.cell is None else f"cell {site.cell}, line {site.row}"


def message(finding: Finding) -> str:
    """What is wrong, in a notebook with the cell and the line before it."""
    where = cell_and_line(finding.site)
    return f"{where}: {finding.headline}" if where else finding.headline


def help_text(finding: Finding) -> str:
    """Return the help with the options that apply the fix; empty if there is neither."""
    if finding.fix is None:
        return finding.help
    options = "--fix" if finding.fix.safe else "--fix --unsafe-fixes"
    return f"{finding.help} ({options})" if finding.help else options


def explanation(finding: Finding) -> list[str]:
    """The trail, the remedy and the verdict, a line each."""
    lines = [f"{number}. {step.site}: {step.note}" for number, step in enumerate(finding.trail, start=1)]
    if finding.help:
        lines.append(f"help: {finding.help}")
    if said := sentence(finding):
        lines.append(said)
    return lines
