"""Figures as SVG."""

from __future__ import annotations

import math
import re
from xml.etree import ElementTree as ET

import pytest

from tests.checkup.telling.conftest import HOSTILE, plots
from torch_doctor.checkup.outcome import Mark, Plot, Series
from torch_doctor.checkup.telling.drawing import PAGE_COLOURS, svg

DRAWN = [plot for plot in plots() if plot.kind in {"lines", "bars", "matrix"}]
HISTOGRAMS = next(plot for plot in plots() if plot.kind == "histograms")


def texts(drawn: str) -> list[str]:
    return ["".join(each.itertext()).strip() for each in ET.fromstring(drawn).iter("{http://www.w3.org/2000/svg}text")]  # noqa: S314 - our own


@pytest.mark.parametrize("plot", [*DRAWN, HISTOGRAMS], ids=[plot.title for plot in [*DRAWN, HISTOGRAMS]])
def test_a_figure_is_one_element_in_the_colours_of_the_page(plot: Plot) -> None:
    drawn = svg(plot)
    root = ET.fromstring(drawn)  # noqa: S314 - our own
    assert root.attrib["aria-label"] == plot.alternative
    assert root.attrib["role"] == "img"
    assert {"width", "height"}.isdisjoint(root.attrib)
    assert "currentColor" in drawn
    assert not [colour for colour in PAGE_COLOURS if colour in drawn]
    assert "http" not in re.sub(r'xmlns(:\w+)?="[^"]*"', "", drawn)


def test_logarithmic_axes_have_numbers_that_one_can_read() -> None:
    words = texts(svg(DRAWN[1]))
    assert "0.001" in words
    assert not [word for word in words if "$" in word or "mathdefault" in word]


def test_lines_of_several_axes_get_a_panel_each() -> None:
    drawn = svg(DRAWN[4])
    assert {"loss", "accuracy", "gradient norm", "step"} <= set(texts(drawn))
    assert texts(drawn).count("step") == 1
    assert "10000" in texts(drawn)
    sizes = [float(svg(each).split('viewBox="')[1].split('"')[0].split()[3]) for each in (DRAWN[0], DRAWN[4])]
    assert sizes[1] > 1.8 * sizes[0]


def test_histograms_of_columns_have_a_panel_each_and_one_legend() -> None:
    words = texts(svg(HISTOGRAMS))
    assert {"age", "height", "mass", HOSTILE, "pulse"} <= set(words)
    assert words.count("training") == 1
    assert "max-width: 57rem" in svg(HISTOGRAMS)


def test_panels_with_the_same_lines_have_one_legend() -> None:
    series = [
        Series(label, [1, 2], [1, 2], axis=axis) for axis in ("wind", "sun") for label in ("training", "validation")
    ]
    words = texts(svg(Plot("Series", "lines", "two features", x_label="step", series=series)))
    assert {"wind", "sun"} <= set(words)
    assert words.count("training") == 1


def test_bars_with_long_names_lie_below_each_other() -> None:
    found = [text for text in texts(svg(DRAWN[5])) if text.startswith("aten::")]
    assert len(found) == 12
    assert all(len(each) <= 36 for each in found)


def test_what_labels_say_means_nothing_to_the_drawing() -> None:
    drawn = svg(Plot(HOSTILE, "lines", HOSTILE, x_label=HOSTILE, series=[Series(HOSTILE, [1, 2], [1, 2])]))
    assert "<script" not in drawn
    assert HOSTILE in texts(drawn)


def test_a_curve_with_nothing_finite_in_it_is_an_empty_figure() -> None:
    drawn = svg(Plot("", "lines", "nothing", y_log=True, x_log=True, series=[Series("loss", [0.0, 1.0], [None, None])]))
    assert ET.fromstring(drawn) is not None  # noqa: S314 - our own


def test_a_matrix_of_no_rows_is_an_empty_figure() -> None:
    assert svg(Plot("", "matrix", "nothing")).startswith("<svg")


NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    "plot",
    [
        Plot("", "lines", "", series=[Series("", [1, 2, 3], [NAN, INF, 1.0])], marks=[Mark("nowhere", NAN)]),
        Plot("", "lines", "", x_log=True, series=[Series("", [1, 2], [1, 2])], marks=[Mark("nowhere", 0.0)]),
        Plot("", "lines", "", series=[Series("", [1, 2], [1e308, -1e308])]),
        Plot("", "bars", "", y_log=True, names=["a", "b"], series=[Series("", [0, 1], [None, INF])]),
        Plot("", "bars", ""),
        Plot("", "matrix", "", rows=[[NAN, -INF], [1.0, 2.0]]),
        Plot("", "matrix", "", rows=[[1.0, 2.0], [3.0]]),
    ],
)
def test_numbers_that_cannot_be_drawn_are_left_out(plot: Plot) -> None:
    assert "nowhere" not in texts(svg(plot))


def test_a_matrix_of_many_classes_stays_small_and_names_some_of_them() -> None:
    rows = [[float(row * column) for column in range(200)] for row in range(200)]
    drawn = svg(Plot("", "matrix", "", rows=rows, names=[f"class {each}" for each in range(200)]))
    assert len(drawn) < 300_000
    assert "class 192" in texts(drawn)
    assert "class 193" not in texts(drawn)
