"""`scan --add-noqa`: writes comments that suppress findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from msgspec import Struct, field
from msgspec.structs import replace

from torch_doctor import scan as scanning
from torch_doctor.fixes import relined, rewrite
from torch_doctor.rule import Verdict
from torch_doctor.sources.source import SourceFile
from torch_doctor.sources.suppressing import on_line
from torch_doctor.sources.suppressions import NOQA

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from torch_doctor.rule import Finding
    from torch_doctor.scan import Options, Report

MOST_ROUNDS = 10  # what is suppressed may have hidden something else
NOT_SUPPRESSED = frozenset(("TDR000", "TDR001"))
"""No comment makes a file readable, and one that suppresses nothing is rather taken out."""


class Noted(Struct):
    """The result: the number of suppressed findings, the changed files, and what could not be suppressed."""

    findings: int = 0
    after: dict[Path, bytes] = field(default_factory=dict)
    names: dict[Path, str] = field(default_factory=dict)
    left: list[Finding] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def add_noqa(report: Report, options: Options, reason: str, *, quiet: bool) -> int:
    """Suppress the findings of a report by comments in their files; the exit status."""
    noted = _noted(report, options, f"- {reason}" if NOQA.match(f"# noqa: {reason}")["codes"] else reason)  # type: ignore[index]
    for path, content in noted.after.items():
        try:
            rewrite(path, content)
        except OSError as failure:  # noqa: PERF203 - the other files are still written
            noted.errors.append(f"{noted.names[path]} cannot be written: {failure.strerror}")
    for finding in noted.left:
        click.echo(f"{finding.site}: {finding.code} cannot be suppressed: there is no place for a comment", err=True)
    for error in (*report.errors, *noted.errors):
        click.echo(f"error: {error}", err=True)
    if not quiet:
        files = f"{len(noted.after)} file{'s' * (len(noted.after) != 1)}"
        click.echo(f"Suppressed {noted.findings} finding{'s' * (noted.findings != 1)} in {files}.", err=True)
    return 2 if report.errors or noted.errors else 0


def _noted(report: Report, options: Options, reason: str) -> Noted:
    """Return the files with comments, which also suppress findings that only then appear."""
    noted = Noted()
    plain = replace(options, probe=None, cache=None)
    for _ in range(MOST_ROUNDS):
        before = noted.findings
        noted.left = []
        by_file: dict[str, list[Finding]] = {}
        for finding in report.findings:
            if finding.verdict is not Verdict.REFUTED:
                for each in (finding.wide and finding.members) or (finding,):  # a comment speaks for its own file
                    by_file.setdefault(each.site.path, []).append(each)
        for name, findings in by_file.items():
            _note(report.sources.get(name), findings, reason, noted)
        if noted.findings == before:
            break
        report = scanning.scan(replace(plain, overlay={**options.overlay, **noted.after}))
    return noted


def _note(file: SourceFile | None, findings: Sequence[Finding], reason: str, noted: Noted) -> None:
    """Add comments to one file."""
    if file is None:
        noted.left += findings
        return
    lines = list(file.lines)
    silent = []
    for finding in findings:
        now = SourceFile(file.path, file.display, "\n".join(lines), file.cells)
        found = None if finding.code in NOT_SUPPRESSED else on_line(finding, now)
        if found is None:
            noted.left.append(finding)
            continue
        line, column = lines[found.row - 1], found.column - 1
        tail = line[column:].rstrip()
        lines[found.row - 1] = line[:column] + found.content + (tail or (f" {reason}" if reason else ""))
        silent.append(finding)
    try:
        raw = noted.after.get(file.path) or file.path.read_bytes()
        new = relined(raw, file, lines)
    except (OSError, ValueError) as error:
        noted.errors.append(f"{file.display} cannot be changed: {getattr(error, 'strerror', None) or error}")
        return
    if silent:
        noted.after[file.path] = new
        noted.names[file.path] = file.display
        noted.findings += len(silent)
