"""Prints the report of a scan: once, or on a terminal what the source says first, and what scripts show when they ran."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from torch_doctor.cli.streams import PLAIN, is_terminal, look_of, write, write_file
from torch_doctor.report.formats import renderer
from torch_doctor.report.reported import Reported

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from torch_doctor.report.afterwards import Shown
    from torch_doctor.scan import Options, Report

FOR_PEOPLE = ("full", "concise")


class Printing:
    """Prints a report in the formats that were asked for."""

    def __init__(
        self, options: Options, outputs: Sequence[tuple[str, Path | None]], *, color: str, statistics: bool
    ) -> None:
        self._options = options
        self._outputs = outputs
        self._color = color
        self._statistics = statistics
        self._shown: dict[str, frozenset[Shown]] = {}

    def first(self, report: Report) -> None:
        """Prints what the source says, for people at a terminal, who would have to wait until all scripts have run."""
        from torch_doctor.report.afterwards import shown  # noqa: PLC0415 - only where scripts are run

        for name, file in self._outputs:
            if file is None and name in FOR_PEOPLE and not self._statistics and is_terminal(sys.stdout):
                self._print(report, name)
                sys.stdout.flush()
                self._shown[name] = frozenset(map(shown, report.findings))

    def last(self, report: Report) -> None:
        """Prints everything, but for what was printed at first."""
        for name, file in self._outputs:
            if file is None:
                self._print(report, name)
            else:
                render = renderer(name, statistics=self._statistics)
                write_file(file, render(self._reported(report), PLAIN))

    def _print(self, report: Report, name: str) -> None:
        render = renderer(name, statistics=self._statistics)
        if name in self._shown:
            from torch_doctor.report import afterwards  # noqa: PLC0415 - only where scripts were run

            render = afterwards.render(name, self._shown[name])
        look = look_of(self._color, sys.stdout)
        write(render(self._reported(report), look), colours=look.paint.colours)

    def _reported(self, report: Report) -> Reported:
        return Reported(report.findings, report.sources, self._options.rules, report.errors)
