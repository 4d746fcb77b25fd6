"""Findings as GitHub Actions shows them: beside the changed lines of a pull request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.report.details import cell_and_line, explanation
from torch_doctor.report.reported import from_checkout
from torch_doctor.rule import Level, Verdict

if TYPE_CHECKING:
    from torch_doctor.report.reported import Incomplete, Look, Reported
    from torch_doctor.rule import Finding

COMMANDS = {Level.ERROR: "error", Level.WARNING: "warning", Level.ADVICE: "notice"}


def render(reported: Reported, look: Look) -> str:  # noqa: ARG001 - every format is called alike
    """Return one workflow command per finding, errors first: GitHub shows at most ten annotations of each kind."""
    findings = sorted(reported.findings, key=lambda finding: list(COMMANDS).index(_level(finding)))
    commands = [
        *(_command(finding, reported) for finding in findings),
        *(_notice(each, reported) for each in reported.incomplete),
    ]
    return "".join(f"{command}\n" for command in commands)


def _level(finding: Finding) -> Level:
    """Return the level of the annotation, which is lower for a refuted finding."""
    return Level.ADVICE if finding.verdict is Verdict.REFUTED else finding.level


def _command(finding: Finding, reported: Reported) -> str:
    site = finding.site
    row, end_row = reported.row_in_file(site), reported.last_row_in_file(site)
    properties = {"file": from_checkout(site.path), "line": f"{row}"}
    if row != end_row or site.cell is not None:
        properties["endLine"] = f"{end_row}"  # columns are refused over several lines, and a cell has none in the file
    else:
        properties |= {"col": f"{site.column}", "endLine": f"{end_row}", "endColumn": f"{site.end_column}"}
    where = cell_and_line(site)
    properties["title"] = f"{finding.code} {finding.name}{f' ({where})' if where else ''}"
    shown = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    lines = [f"{site}: {finding.headline}", *explanation(finding)]
    return f"::{COMMANDS[_level(finding)]} {shown}::{_data(chr(10).join(lines))}"


def _notice(incomplete: Incomplete, reported: Reported) -> str:
    """Return the workflow command for a file that was not analyzed completely."""
    file, row = from_checkout(incomplete.site.path), reported.row_in_file(incomplete.site)
    return f"::notice file={_property(file)},line={row},title=incomplete analysis::{_data(f'{incomplete}')}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
