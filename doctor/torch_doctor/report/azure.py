"""Findings as logging commands of Azure Pipelines, which shows them as errors and warnings of the run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.report.details import message
from torch_doctor.report.reported import from_checkout
from torch_doctor.report.verdict_words import sentence
from torch_doctor.rule import Level, Verdict

if TYPE_CHECKING:
    from torch_doctor.report.reported import Incomplete, Look, Reported
    from torch_doctor.rule import Finding


def render(reported: Reported, look: Look) -> str:  # noqa: ARG001 - every format is called alike
    """One logging command per finding."""
    commands = (_command(finding, reported) for finding in reported.findings)
    return "".join(
        f"{command}\n" for command in (*commands, *(_notice(each, reported) for each in reported.incomplete))
    )


def _command(finding: Finding, reported: Reported) -> str:
    site = finding.site
    fails = finding.level is Level.ERROR and finding.verdict is not Verdict.REFUTED and not finding.condition
    properties = {
        "type": "error" if fails else "warning",  # there is nothing below a warning
        "sourcepath": from_checkout(site.path),
        "linenumber": f"{reported.row_in_file(site)}",
        "columnnumber": f"{site.column if site.cell is None else 1}",
        "code": finding.code,
    }
    shown = "".join(f"{key}={_property(value)};" for key, value in properties.items())
    parts = [message(finding), f"help: {finding.help}" if finding.help else "", sentence(finding)]
    return f"##vso[task.logissue {shown}]{_data('; '.join(filter(None, parts)))}"


def _notice(incomplete: Incomplete, reported: Reported) -> str:
    """Return the logging command for a file that was not analyzed completely."""
    path, row = from_checkout(incomplete.site.path), reported.row_in_file(incomplete.site)
    return f"##vso[task.logissue type=warning;sourcepath={_property(path)};linenumber={row};]{_data(f'{incomplete}')}"


def _data(text: str) -> str:
    return text.replace("%", "%AZP25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace("]", "%5D").replace(";", "%3B")
