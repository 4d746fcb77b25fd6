"""One line per finding, below the name of its file."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from torch_doctor.report.concise import fix_sign
from torch_doctor.report.links import url_of
from torch_doctor.report.paint import LEVEL_COLOURS
from torch_doctor.report.verdict_words import COLOURS

if TYPE_CHECKING:
    from torch_doctor.report.reported import Look, Reported
    from torch_doctor.rule import Finding
    from torch_doctor.trace import Site


def render(reported: Reported, look: Look) -> str:
    """All findings, with an empty line after each file."""
    files: dict[str, list[Finding]] = defaultdict(list)
    for finding in reported.findings:
        files[finding.site.path].append(finding)
    return "".join(f"{look.paint(path, 'bold')}:\n{_file(findings, look)}\n" for path, findings in files.items())


def _file(findings: list[Finding], look: Look) -> str:
    width = max(len(_place(finding.site)) for finding in findings)
    return "".join(f"  {_line(finding, width, look)}\n" for finding in findings)


def _line(finding: Finding, width: int, look: Look) -> str:
    paint, verdict = look.paint, finding.verdict
    where = paint(_place(finding.site).ljust(width), "dim")
    code = paint.linked(finding.code, url_of(finding.code), "bold", LEVEL_COLOURS[finding.level])
    said = "" if verdict is None else paint(f" [{verdict.value}]", "bold", COLOURS[verdict])
    return f"{where} {code} {finding.name}{fix_sign(finding, look)}: {finding.headline}{said}"


def _place(site: Site) -> str:
    cell = "" if site.cell is None else f"cell {site.cell}:"
    return f"{cell}{site.row}:{site.column}"
