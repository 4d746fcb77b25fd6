"""At most four lines per finding: what it is, the marked source line, the verdict with its number, and the help."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from torch_doctor.report.concise import place
from torch_doctor.report.details import help_text
from torch_doctor.report.frame import Mark, frame, note
from torch_doctor.report.full import LEAST_GUTTER, level_and_code, ordered, with_heading
from torch_doctor.report.paint import LEVEL_COLOURS
from torch_doctor.report.verdict_words import COLOURS, main_claim

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.report.reported import Look, Reported
    from torch_doctor.rule import Finding

MOST_LINES = 4


def render(reported: Reported, look: Look) -> str:
    """Return all findings by file, errors first."""
    lines = with_heading(ordered(reported.findings), lambda finding: _finding(finding, reported, look), look)
    return "".join(f"{line}\n" for line in lines)


def render_verdict(finding: Finding, look: Look) -> str:
    """Return the verdict of a finding that was shown before."""
    if finding.verdict is None:
        return ""
    lines = [f"{place(finding.site, look)} {level_and_code(finding, look)}", *_verdict(finding, look, LEAST_GUTTER)]
    return "".join(f"{line}\n" for line in lines)


def _finding(finding: Finding, reported: Reported, look: Look) -> Iterator[str]:
    gutter = max(LEAST_GUTTER, len(str(finding.site.row)))
    notes = list(_verdict(finding, look, gutter))
    if text := help_text(finding):
        notes += note("help: ", text, replace(look, width=None), gutter)
    yield f"{place(finding.site, look)} {level_and_code(finding, look)} {finding.headline}"
    source = reported.sources.get(finding.site.path)
    if source is not None:
        mark = Mark(finding.site, "^", LEVEL_COLOURS[finding.level])
        yield from frame([mark], source, look, gutter)[: min(2, MOST_LINES - 1 - len(notes))]
    yield from notes


def _verdict(finding: Finding, look: Look, gutter: int) -> Iterator[str]:
    if finding.verdict is None:
        return
    verdict, claim = finding.verdict.value, main_claim(finding)
    text = " ".join(f"{verdict}{f': {claim}' if claim else ''}".split())
    (line,) = note("probe: ", text, replace(look, width=None), gutter)
    yield line.replace(verdict, look.paint(verdict, "bold", COLOURS[finding.verdict]), 1)
