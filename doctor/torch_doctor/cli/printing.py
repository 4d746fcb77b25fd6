"""Prints the report of a scan: once, or on a terminal first the static findings, then the results of the runs."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from torch_doctor.cli.fixing import with_proposals
from torch_doctor.cli.streams import PLAIN, is_terminal, look_of, write, write_file
from torch_doctor.report.formats import renderer
from torch_doctor.report.reported import Reported

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from torch_doctor.report.afterwards import Shown
    from torch_doctor.report.formats import Render
    from torch_doctor.report.reported import Look
    from torch_doctor.rule import Finding
    from torch_doctor.scan import Options, Report

SUMMARY = "GITHUB_STEP_SUMMARY"
"""Where a step of GitHub Actions writes what the page of the job shows."""
FOR_PEOPLE = ("full", "short", "concise")


class Printing:
    """Prints a report in the selected formats."""

    def __init__(
        self,
        options: Options,
        outputs: Sequence[tuple[str, Path | None]],
        *,
        color: str,
        statistics: bool,
        err: bool = False,
    ) -> None:
        """`err`: write to stderr instead of stdout, which gets the fixed source."""
        self._options = options
        self._outputs = outputs
        self._color = color
        self._statistics = statistics
        self._err = err
        self._shown: dict[str, frozenset[Shown]] = {}

    def first(self, report: Report) -> None:
        """Print the static findings on a terminal, before the scripts run."""
        from torch_doctor.report.afterwards import shown  # noqa: PLC0415 - only where scripts are run

        for name, file in self._outputs:
            if file is None and name in FOR_PEOPLE and not (self._statistics or self._err) and is_terminal(sys.stdout):
                proposed = with_proposals(replace(report, findings=[*report.findings]), self._options)
                self._print(proposed, name)
                sys.stdout.flush()
                self._shown[name] = frozenset(map(shown, report.findings))

    def last(self, report: Report) -> None:
        """Print everything that `first` did not print."""
        for name, file in self._outputs:
            if file is None:
                self._print(report, name)
            else:
                render = renderer(name, statistics=self._statistics)
                write_file(file, self._rendered(render, report, name, PLAIN))
        summary = os.environ.get(SUMMARY)
        if summary and any(name == "github" for name, _ in self._outputs):
            self._summarise(report, summary)

    def _summarise(self, report: Report, file: str) -> None:
        """Append a table to the job summary, which other commands of the step may have started."""
        text = self._rendered(renderer("markdown"), report, "markdown", PLAIN)
        try:
            with open(file, "a", encoding="utf-8", errors="backslashreplace") as summary:  # noqa: PTH123 - as given
                summary.write(text)
        except OSError as error:
            report.warnings.append(f"the job summary {file} cannot be written: {error.strerror}")

    def _print(self, report: Report, name: str) -> None:
        render = renderer(name, statistics=self._statistics)
        if name in self._shown:
            from torch_doctor.report import afterwards  # noqa: PLC0415 - only where scripts were run

            render = afterwards.render(name, self._shown[name])
        look = look_of(self._color, sys.stderr if self._err else sys.stdout)
        text = self._rendered(render, report, name, look)
        if self._err:
            click.echo(text, nl=False, err=True, color=look.paint.colours)
        else:
            write(text, colours=look.paint.colours)

    def _rendered(self, render: Render, report: Report, name: str, look: Look) -> str:
        """Return the report as text, without findings that cannot be rendered; these are errors of the report."""
        reported = self._reported(report)
        try:
            return render(reported, look)
        except Exception as error:  # noqa: BLE001 - an error of ours costs what it is about
            kept = [finding for finding in report.findings if self._fails(render, report, finding, name, look) is None]
            if len(kept) == len(report.findings):
                report.failed(f"findings, to write them as {name}", error)
                return ""
            return render(replace(self._reported(report), findings=kept), look)

    def _fails(self, render: Render, report: Report, finding: Finding, name: str, look: Look) -> Exception | None:
        """Return why a finding cannot be rendered; None if it can."""
        try:
            render(replace(self._reported(report), findings=[finding]), look)
        except Exception as error:  # noqa: BLE001 - as above
            report.failed(f"{finding.site}, to write {finding.code} as {name}", error)
            return error
        return None

    def _reported(self, report: Report) -> Reported:
        return Reported(
            report.findings, report.sources, self._options.rules, report.errors, report.left_out, report.incomplete
        )
