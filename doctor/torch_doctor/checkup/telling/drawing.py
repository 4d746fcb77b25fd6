"""The figures of a checkup as SVG, drawn by matplotlib: it knows every scale, and the field reads its plots every day."""

from __future__ import annotations

import html
import io
import itertools
import math
import re
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter
from msgspec.structs import replace

from torch_doctor.checkup.telling.histograms import histograms

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

    from torch_doctor.checkup.outcome import Plot, Series

INK, QUIET = "#010203", "#010204"  # no plot is drawn in these: they stand for colours of the page
SERIES = ("#010211", "#010212", "#010213", "#010214", "#010215")
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))
PAGE_COLOURS = {
    INK: "currentColor",
    QUIET: "var(--quiet)",
    **{each: f"var(--series-{number})" for number, each in enumerate(SERIES)},
}
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "torch-doctor",
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.edgecolor": QUIET,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "grid.color": QUIET,
    "grid.alpha": 0.25,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "text.parse_math": False,
    "text.usetex": False,
}
SIZE = (4.8, 2.8)  # inches, which the page scales: small, so that words are large enough on a phone
MOST_NUMBERS = 12  # rows of a matrix whose cells have their numbers in them
MOST_CELLS = 2500  # of a matrix that is drawn cell by cell; one with more is a picture within the drawing
MOST_NAMES = 25  # along an axis; where there are more, some are left out
FITTING = 56  # characters that fit below an axis
LONGEST = 32  # characters of a name beside a bar
BESIDE = 6  # characters that the sample of a colour is wide
ROW, PANEL = 0.24, 1.6  # inches of a bar on its side, and of a panel beyond the first
REMS = 7.5  # of the page for an inch of histograms
LARGEST = 1e100  # what is larger is drawn there
DARK = 0.55  # from here on a cell is dark, and its number light


def svg(plot: Plot) -> str:
    """A figure as an SVG element that takes its colours from the page, with `alternative` for those who cannot see it."""
    with mpl.rc_context(STYLE):
        wide, high = SIZE
        if plot.kind == "histograms":
            figure = histograms(plot, SERIES)
            return _for_page(_written(figure), plot.alternative, widest=figure.get_figwidth() * REMS)
        panels = _panels(plot) if plot.kind == "lines" else [plot]
        lying = _lies(plot)
        if lying:
            high = max(high, 0.8 + ROW * len(plot.names))
        figure = Figure(figsize=(wide, high + PANEL * (len(panels) - 1)), layout="tight")
        every = figure.subplots(len(panels), sharex=True, squeeze=False)[:, 0]
        draw: Callable[[Axes, Plot], None] = {"lines": _lines, "bars": _lying if lying else _bars, "matrix": _matrix}[
            plot.kind
        ]
        for axes, panel in zip(every, panels, strict=True):
            draw(axes, panel)
            axes.set_ylabel(panel.x_label if lying else panel.y_label)
        _legend_once(every, panels)
        every[-1].set_xlabel(plot.y_label if lying else plot.x_label)
        return _for_page(_written(figure), plot.alternative)


def _written(figure: Figure) -> str:
    text = io.StringIO()
    figure.savefig(text, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    return text.getvalue()


def _legend_once(every: Any, panels: list[Plot]) -> None:  # noqa: ANN401 - an array of axes
    """One legend above all panels, where each has the same lines."""
    names = [[each.label for each in panel.series] for panel in panels]
    if len(panels) == 1 or len(names[0]) == 1 or any(each != names[0] for each in names):
        return
    for axes in every:
        axes.get_legend().remove()
    every[0].legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=len(names[0]), borderaxespad=0)


def _panels(plot: Plot) -> list[Plot]:
    """The lines of each axis as a plot of their own, in the order in which they come first."""
    groups: dict[str, list[Series]] = {}
    for series in plot.series:
        groups.setdefault(series.axis, []).append(series)
    return [
        replace(
            plot,
            series=own,
            y_label=axis or plot.y_label,
            y_log=any(each.log for each in own) or (plot.y_log and not axis),
        )
        for axis, own in groups.items()
    ] or [plot]


def _lies(plot: Plot) -> bool:
    """Whether the bars lie on their side: their names do not fit below them."""
    named = plot.kind == "bars" and bool(plot.names) and all(len(each.y) == len(plot.names) for each in plot.series)
    return named and len(plot.names) <= MOST_NAMES and _crowded(plot.names)


def _for_page(text: str, alternative: str, widest: float = 0.0) -> str:
    """The element alone, as wide as there is room or at most as many rems, in the colours of the page."""
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    opening, rest = text.split(">", 1)
    opening = re.sub(r' (width|height)="[^"]*"', "", opening)
    for colour, named in PAGE_COLOURS.items():
        rest = rest.replace(colour, named)
    opening += f' style="max-width: {widest:g}rem"' if widest else ""
    return f'{opening} role="img" aria-label="{html.escape(alternative)}">{rest}'


def _values(series: Series) -> list[float]:
    """The values within what can be drawn; what is not finite is a gap."""
    return [
        math.nan if each is None or not math.isfinite(each) else max(-LARGEST, min(LARGEST, each)) for each in series.y
    ]


def _lines(axes: Axes, plot: Plot) -> None:
    for number, series in enumerate(plot.series):
        marker = "o" if sum(each is not None for each in series.y) == 1 else ""
        style = DASHES[number % len(DASHES)]
        axes.plot(
            series.x,
            _values(series),
            color=SERIES[number % len(SERIES)],
            linestyle=style,
            linewidth=1.8,
            marker=marker,
            label=series.label,
        )
    _scales(axes, plot)
    for mark in plot.marks:
        if not math.isfinite(mark.x) or (plot.x_log and mark.x <= 0):
            continue
        axes.axvline(mark.x, color=QUIET, linestyle=":", linewidth=1.5)
        axes.annotate(
            mark.label, (mark.x, 1), xycoords=("data", "axes fraction"), xytext=(3, -4), textcoords="offset points",
            rotation=90, va="top", fontsize=8,
        )  # fmt: skip
    axes.grid(visible=True)
    if len(plot.series) > 1:
        axes.legend()


def _scales(axes: Axes, plot: Plot) -> None:
    """Logarithmic where it is asked for and possible, with plain numbers and no factors beside the axis."""
    xs = [each for series in plot.series for each in series.x]
    ys = [each for series in plot.series for each in series.y if each is not None]
    plain = FuncFormatter(lambda number, _: f"{number:.4g}")
    axes.yaxis.set_major_formatter(plain)
    if plot.x_log and any(each > 0 for each in xs):
        axes.set_xscale("log")
        _plainly(axes.xaxis)
    if plot.y_log and any(each > 0 for each in ys):
        axes.set_yscale("log")
        _plainly(axes.yaxis)


def _crowded(names: list[str]) -> bool:
    """Whether names touch where each has an equal part of the width."""
    return (max(map(len, names)) + 1) * len(names) > FITTING


def _plainly(axis: Axis) -> None:
    """A logarithmic axis with numbers as code has them."""
    axis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:g}"))
    axis.set_minor_formatter(NullFormatter())


def _bars(axes: Axes, plot: Plot) -> None:
    width = 0.8 / max(1, len(plot.series))
    for number, series in enumerate(plot.series):
        named = bool(plot.names) and len(plot.names) == len(series.y)
        places = [place if named else each for place, each in enumerate(series.x)]
        gaps = [] if named else [abs(later - place) for place, later in itertools.pairwise(places)]
        step = min((gap for gap in gaps if gap), default=1.0)
        shift = (number - (len(plot.series) - 1) / 2) * width * step
        axes.bar(
            [each + shift for each in places],
            [0.0 if math.isnan(each) else each for each in _values(series)],
            width * step,
            color=SERIES[number % len(SERIES)],
            label=series.label,
        )
        if named:
            long = _crowded(plot.names)
            every = math.ceil(len(plot.names) / MOST_NAMES)
            axes.set_xticks(
                range(0, len(plot.names), every),
                plot.names[::every],
                rotation=40 if long else 0,
                ha="right" if long else "center",
            )
    if plot.y_log and any(each > 0 for series in plot.series for each in _values(series)):
        axes.set_yscale("log")
        _plainly(axes.yaxis)
    axes.grid(visible=True, axis="y")
    _legend_above(axes, plot)


def _lying(axes: Axes, plot: Plot) -> None:
    """Bars with long names, one below the other, the first one on top."""
    high = 0.8 / max(1, len(plot.series))
    for number, series in enumerate(plot.series):
        shift = (number - (len(plot.series) - 1) / 2) * high
        values = [0.0 if math.isnan(each) else each for each in _values(series)]
        axes.barh(
            [place + shift for place in range(len(values))],
            values,
            high,
            color=SERIES[number % len(SERIES)],
            label=series.label,
        )
    axes.set_yticks(range(len(plot.names)), [_short(each) for each in plot.names])
    axes.invert_yaxis()
    whole = all(float(each).is_integer() for series in plot.series for each in _values(series) if not math.isnan(each))
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=whole))
    if plot.y_log and any(each > 0 for series in plot.series for each in _values(series)):
        axes.set_xscale("log")
        _plainly(axes.xaxis)
    axes.grid(visible=True, axis="x")
    _legend_above(axes, plot)


def _legend_above(axes: Axes, plot: Plot) -> None:
    """The names of several series above the bars, which leave no room between them."""
    if len(plot.series) > 1:
        names = [_short(each.label) for each in plot.series]
        columns = max(1, min(len(names), FITTING // (max(map(len, names)) + BESIDE)))
        axes.legend(labels=names, loc="lower left", bbox_to_anchor=(0, 1), ncols=columns, borderaxespad=0)


def _short(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"


def _matrix(axes: Axes, plot: Plot) -> None:
    columns = max(map(len, plot.rows), default=0)
    if not columns:
        return
    rows = [
        [each if math.isfinite(each) else 0.0 for each in (*row, *[0.0] * (columns - len(row)))] for row in plot.rows
    ]
    high = max(max(row) for row in rows) or 1.0
    large = len(rows) * columns > MOST_CELLS
    lines: dict[str, Any] = {} if large else {"edgecolors": QUIET, "linewidth": 0.3}
    axes.pcolormesh(rows, cmap="Blues", vmin=0, vmax=high, rasterized=large, **lines)
    axes.invert_yaxis()
    axes.set_aspect("equal" if len(rows) == len(rows[0]) else "auto")
    if len(plot.names) == columns:
        every = math.ceil(columns / MOST_NAMES)
        places = [each + 0.5 for each in range(0, columns, every)]
        axes.set_xticks(places, plot.names[::every], rotation=40, ha="right")
        if len(rows) == columns:
            axes.set_yticks(places, plot.names[::every])
    else:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    if len(rows) <= MOST_NUMBERS and columns <= MOST_NUMBERS:
        for number, row in enumerate(rows):
            for place, each in enumerate(row):
                ink = "#ffffff" if each / high > DARK else "#0b1f33"
                axes.text(place + 0.5, number + 0.5, f"{each:.3g}", ha="center", va="center", color=ink, fontsize=8)
