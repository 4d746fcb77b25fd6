"""A checkup on a terminal: a line for each rung as it goes on, then a summary with the result of each in full."""

from __future__ import annotations

import math
import shutil
import textwrap
import time
from typing import TYPE_CHECKING, TextIO

from torch_doctor.checkup.telling.words import PLAIN_SIGNS, SIGNS, counts, reasons, standing, what_next
from torch_doctor.report.links import url_of
from torch_doctor.report.paint import LEVEL_COLOURS, Paint
from torch_doctor.scan import Follower

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

    from rich.console import Console
    from rich.progress import Progress
    from typing_extensions import Self

    from torch_doctor.checkup.outcome import Checkup, Plot, Rung, Series
    from torch_doctor.rule import Finding

COLOURS = {"passed": "green", "failed": "red", "skipped": "yellow", "shown": "blue"}
NARROWEST, WIDEST = 40, 100
NAME = 18  # columns of the longest name of a rung
BARS = "▁▂▃▄▅▆▇█"
CURVE = 40  # columns of a chart
MOST_CHARTS, MOST_FINDINGS, MOST_LINES = 3, 4, 5


class Lines(Follower):
    """Says what came of each rung when it is over; on a terminal a spinner shows the one that is under way, and its time."""

    def __init__(self, stream: TextIO, *, live: bool, paint: Paint, wanted: bool = True) -> None:
        self.listens = live and wanted
        self._wanted = wanted
        self._stream = stream
        self._paint = paint
        self._signs = signs_for(stream)
        self._console: Console | None = None
        self._bar: Progress | None = None
        self._rung = ""
        self._start = time.monotonic()

    def __enter__(self) -> Self:
        if self.listens:
            from rich.console import Console  # noqa: PLC0415 - only where somebody watches
            from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn  # noqa: PLC0415

            self._console = Console(file=self._stream, highlight=False)
            said = TextColumn("{task.description}", markup=False)
            self._bar = Progress(SpinnerColumn(), said, TimeElapsedColumn(), console=self._console, transient=True)
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def scanning(self, script: str) -> None:
        """The script is read, and run for the verdicts of the scan."""
        self._show(f"{script}: reading")

    def doing(self, script: str, activity: str, left: float) -> None:  # noqa: ARG002 - as a follower is called
        """The run of the script is at something."""
        if not self._rung:
            self._show(f"{script}: {activity}", again=False)

    def rung_started(self, name: str) -> None:
        """A rung is under way."""
        self._rung, self._start = name, time.monotonic()
        self._show(f"{name:<{NAME}} …")

    def rung_ended(self, rung: Rung) -> None:
        """What came of it."""
        self._rung = ""
        if not self._wanted:
            return
        word = self._paint(rung.status.upper(), COLOURS[rung.status], "bold")
        text = f"{self._signs[rung.status]} {rung.name:<{NAME}} {word} [{rung.seconds:.1f} s]"
        if self._bar is not None:
            from rich.text import Text  # noqa: PLC0415 - imported by then

            self._bar.console.print(Text.from_ansi(text))
        else:
            self._stream.write(text + "\n")
            self._stream.flush()

    def _show(self, text: str, *, again: bool = True) -> None:
        """Let the spinner stand for something else; `again`: its time begins anew."""
        if self._bar is None:
            return
        task = next(iter(self._bar.task_ids), None)
        if task is None:
            self._bar.add_task(text, total=None)
        elif again:
            self._bar.reset(task, description=text)
        else:
            self._bar.update(task, description=text)


def signs_for(stream: TextIO) -> dict[str, str]:
    """The signs of statuses that a stream can write."""
    try:
        "".join(SIGNS.values()).encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return PLAIN_SIGNS
    return SIGNS


def summary(checked: Checkup, paint: Paint, *, signs: dict[str, str], width: int = 0, charts: bool = True) -> str:
    """What came of all rungs, what to do next, and where charts are wanted the curves as blocks; with a line break at its end."""
    width = min(WIDEST, max(NARROWEST, width or shutil.get_terminal_size().columns))
    on = f" on {checked.device or 'no device'}, {checked.seconds:.0f} s"
    lines = [
        paint(textwrap.shorten(f"Checkup of {checked.script}", width - len(on), placeholder=" …"), "bold") + on,
        "",
    ]
    for rung, reason in reasons(checked):
        head = f"{signs[rung.status]} {rung.name:<{NAME}} "
        word = f"{rung.status:<8}"
        room = max(10, width - len(head) - len(word))
        first, *rest = textwrap.wrap(reason, room) or [""]
        lines.append(head + paint(word, COLOURS[rung.status]) + first)
        lines += [" " * (len(head) + len(word)) + each for each in rest]
    if charts and signs is SIGNS:
        lines += _charts(checked, width)
    lines += _advice(checked, paint, width)
    lines += _next(checked, paint, width)
    lines += ["", *(paint(line, "bold") for line in textwrap.wrap(counts(checked) + _more(checked), width))]
    return "\n".join(lines) + "\n"


def _charts(checked: Checkup, width: int) -> Iterator[str]:
    """The first curves, a line each."""
    plots = [plot for rung in checked.rungs for plot in rung.plots if plot.kind == "lines" and plot.series]
    shown = 0
    for plot in plots:
        series = max(plot.series, key=lambda each: len(each.y))
        text = curve(series, min(CURVE, width - 30), log=plot.y_log)
        if not text or shown == MOST_CHARTS:
            continue
        shown += 1
        if shown == 1:
            yield ""
        yield f"  {textwrap.shorten(plot.title, max(20, width - len(text) - 28), placeholder=' …')}: {text} {_ends(plot, series)}"


def _ends(plot: Plot, series: Series) -> str:
    known = [each for each in series.y if each is not None and math.isfinite(each)]
    return f"{known[0]:.3g} → {known[-1]:.3g} {plot.y_label}".rstrip() if known else ""


def curve(series: Series, columns: int, *, log: bool = False) -> str:
    """A line of a plot as blocks of eight heights, a space for what is not finite; "" where there is no curve."""
    values = [each if each is not None and math.isfinite(each) and (each > 0 or not log) else None for each in series.y]
    scaled = [None if each is None else math.log(each) if log else each for each in values]
    known = [each for each in scaled if each is not None]
    if len(known) < 2:  # noqa: PLR2004 - one point is no curve
        return ""
    size = max(1.0, *map(abs, known))  # no difference of what is divided by it overflows
    low, high = min(known) / size, max(known) / size
    step = max(1.0, len(scaled) / columns)
    picked = [scaled[int(place * step)] for place in range(min(columns, len(scaled)))]
    top = len(BARS) - 1
    return "".join(
        " " if each is None else BARS[round((each / size - low) / (high - low) * top) if high > low else 0]
        for each in picked
    )


def _advice(checked: Checkup, paint: Paint, width: int) -> Iterator[str]:
    """The facts about a script that may well be right."""
    if checked.advice:
        yield ""
        yield paint("Also consider", "bold")
    for each in checked.advice:
        yield from textwrap.wrap(each, width, initial_indent="  - ", subsequent_indent=" " * 4)


def _next(checked: Checkup, paint: Paint, width: int) -> Iterator[str]:
    """What to do, the first thing first."""
    found = list(what_next(checked))
    if not found:
        return
    yield ""
    yield paint("What to do next", "bold")
    for number, (title, said, findings) in enumerate(found, start=1):
        indent = " " * 4
        text = textwrap.wrap(f"{title}: {said}", width - 4, max_lines=MOST_LINES, placeholder=" …")
        yield f"{number:>2}. {text[0]}"
        yield from (indent + each for each in text[1:])
        yield from (indent + _finding(each, paint, width - 4) for each in findings[:MOST_FINDINGS])
        if len(findings) > MOST_FINDINGS:
            rest = dict.fromkeys(each.code for each in findings[MOST_FINDINGS:])
            yield from textwrap.wrap(f"and {', '.join(rest)}", width, initial_indent=indent, subsequent_indent=indent)


def _finding(finding: Finding, paint: Paint, width: int) -> str:
    verdict = "" if finding.verdict is None else f" ({finding.verdict.value})"
    code = paint.linked(finding.code, url_of(finding.code), LEVEL_COLOURS[finding.level], "bold")
    said = textwrap.shorten(
        f"{finding.name} at {finding.site}{verdict}", max(20, width - len(finding.code) - 1), placeholder=" …"
    )
    return f"{code} {said}"


def _more(checked: Checkup) -> str:
    found = len(standing(checked.findings))
    return f"; {found} finding{'s' * (found != 1)} of the scan" if found else ""
