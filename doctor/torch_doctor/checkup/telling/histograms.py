"""Many small histograms as one figure: a panel for each column, with training and validation on top of each other."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from torch_doctor.checkup.outcome import Plot, Series

ACROSS = 4
"""Panels in a row."""
WIDE, HIGH = 1.9, 1.25
"""Inches of a panel."""
FEWEST = 2
"""Panels for which there is room in a row at least."""


def histograms(plot: Plot, colours: tuple[str, ...]) -> Figure:
    """The figure, whose panels have axes of their own; sets are told apart by colour, and by lines against filled bars."""
    groups: dict[str, list[Series]] = {}
    for series in plot.series:
        groups.setdefault(series.axis, []).append(series)
    columns = min(ACROSS, max(FEWEST, len(groups)))
    rows = max(1, math.ceil(len(groups) / columns))
    labels = list(dict.fromkeys(each.label for each in plot.series))
    figure = Figure(figsize=(WIDE * columns, HIGH * rows + 0.45), layout="constrained")
    every = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes in every[len(groups) :]:
        axes.set_axis_off()
    for axes, (name, own) in zip(every, groups.items(), strict=False):
        for series in own:
            _draw(axes, series, labels.index(series.label), colours)
        axes.set_title(name if len(groups) > 1 else "", fontsize=8)
        axes.tick_params(labelsize=7)
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.set_ylim(bottom=0)
        axes.xaxis.set_major_locator(MaxNLocator(3))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.4g}"))
    if len(labels) > 1:
        handles = [every[0].patches[0], every[0].lines[-1]] if every[0].patches and every[0].lines else []
        figure.legend(handles, labels[: len(handles)], loc="outside upper left", ncols=len(labels), fontsize=8)
    return figure


def _draw(axes: Axes, series: Series, place: int, colours: tuple[str, ...]) -> None:
    """The bins of a set: bars for the first, steps of a line for the others."""
    values = [0.0 if each is None or not math.isfinite(each) else each for each in series.y]
    width = series.x[1] - series.x[0] if len(series.x) > 1 else 1.0
    colour = colours[place % len(colours)]
    if place == 0:
        axes.bar(series.x, values, width, color=colour, alpha=0.45, linewidth=0)
        return
    edges = [series.x[0] - width / 2, *(each + width / 2 for each in series.x)]
    axes.step(edges, [values[0], *values], where="pre", color=colour, linewidth=1.4)
