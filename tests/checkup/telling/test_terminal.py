"""A checkup on a terminal."""

from __future__ import annotations

import io
import math
import re

import pytest

from tests.checkup.telling.conftest import HOSTILE, checkup, finding, rung
from torch_doctor.checkup.outcome import RUNGS, Checkup, Rung, Series
from torch_doctor.checkup.telling.terminal import Lines, curve, signs_for, summary
from torch_doctor.checkup.telling.words import PLAIN_SIGNS, SIGNS
from torch_doctor.report.paint import Paint

COLUMNS = 80


def told(checked: Checkup, **how: object) -> str:
    return summary(checked, Paint(), signs=SIGNS, width=COLUMNS, **how)  # type: ignore[arg-type] # each test gives the right ones


def test_the_summary_has_the_reason_of_every_rung_in_full(ordinary: Checkup) -> None:
    lines = told(ordinary).splitlines()
    assert max(map(len, lines)) <= COLUMNS
    text = " ".join(" ".join(lines).split())
    assert all(" ".join(rung.reason.split()) in text for rung in ordinary.rungs)


def test_a_reason_of_several_rungs_is_given_once() -> None:
    rungs = [Rung(name, "skipped", "train.py fails") for name in RUNGS]
    rungs[4] = Rung(RUNGS[4], "passed", "train.py fails")
    text = told(Checkup("train.py", [], "cpu", rungs))
    assert text.count("skipped train.py fails") == 2  # before the rung that passed, and after it
    assert text.count("skipped for the same reason") == len(RUNGS) - 3


@pytest.mark.parametrize("width", [40, 60, 100])
def test_it_fits_any_width(ordinary: Checkup, width: int) -> None:
    text = summary(ordinary, Paint(), signs=SIGNS, width=width)
    assert max(map(len, text.splitlines()[1:])) <= width


def test_what_was_skipped_does_not_look_passed(ordinary: Checkup) -> None:
    lines = told(ordinary).splitlines()
    for one in ordinary.rungs:
        [line] = [line for line in lines if line[2:].startswith(f"{one.name} ")]
        assert line.startswith(SIGNS[one.status])
        assert one.status in line
    assert lines[-1] == "3 failed, 4 passed, 3 shown, 3 skipped; 2 findings of the scan"


def test_a_failure_says_what_to_do_and_which_findings_explain_it(ordinary: Checkup) -> None:
    text = told(ordinary)
    assert " 1. Simple baseline: look at `train.py`\n    TDR101 missing-zero-grad at train.py:7:5 (confirmed)" in text
    assert text.count("TDR101") == 1
    assert "TDR201" not in text


def test_every_finding_is_named() -> None:
    codes = [f"TDR{number}" for number in range(101, 117)]
    checked = Checkup("train.py", [], "cpu", [rung("inspect", "passed")], [finding(code) for code in codes])
    assert set(re.findall(r"TDR\d{3}", told(checked))) == set(codes)
    assert max(map(len, told(checked).splitlines())) <= COLUMNS


def test_curves_are_drawn_only_where_the_terminal_allows_them(ordinary: Checkup) -> None:
    assert "█" in told(ordinary)
    assert "█" not in told(ordinary, charts=False)
    assert "█" not in summary(ordinary, Paint(), signs=PLAIN_SIGNS, width=COLUMNS)


def test_a_curve_goes_from_its_least_value_to_its_largest() -> None:
    assert curve(Series("", [1, 2, 3], [0.0, 0.5, 1.0]), 40) == "▁▅█"
    assert curve(Series("", [1, 2, 3], [1.0, 10.0, 100.0]), 40, log=True) == "▁▅█"
    assert curve(Series("", [1, 2, 3], [0.0, None, 1.0]), 40) == "▁ █"
    assert curve(Series("", [1, 2, 3], [2.0, math.nan, 2.0]), 40) == "▁ ▁"
    assert curve(Series("", [1, 2, 3], [-1e308, 0.0, 1e308]), 40) == "▁▅█"
    assert curve(Series("", [1], [1.0]), 40) == ""
    assert len(curve(Series("", list(range(1000)), [float(each) for each in range(1000)]), 40)) == 40


def test_each_rung_gets_a_line_when_it_is_over() -> None:
    stream = io.StringIO()
    with Lines(stream, live=False, paint=Paint()) as lines:
        lines.scanning("train.py")
        lines.rung_started("inspect")
        assert stream.getvalue() == ""
        lines.rung_ended(rung("inspect", "passed"))
    assert stream.getvalue().split() == ["+", "inspect", "PASSED", "[1.2", "s]"]


def test_a_terminal_shows_what_is_under_way() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with Lines(stream, live=True, paint=Paint()) as lines:
        lines.scanning("train.py")
        lines.doing("train.py", "running", 3.0)
        lines.rung_started("baseline")
        lines.doing("train.py", "climbing", 3.0)
        lines.rung_ended(rung("baseline", "failed"))
    assert b"baseline           FAILED" in stream.detach().getvalue()


def test_a_stream_that_knows_no_signs_gets_letters() -> None:
    assert signs_for(io.TextIOWrapper(io.BytesIO(), encoding="ascii")) is PLAIN_SIGNS
    assert signs_for(io.TextIOWrapper(io.BytesIO(), encoding="utf-8")) is SIGNS


def test_a_script_without_any_trouble_gets_no_advice() -> None:
    checked = checkup(*(rung(name, "passed") for name in RUNGS))
    checked = Checkup("train.py", [], "cpu", checked.rungs)
    text = told(checked)
    assert "What to do next" not in text
    assert text.endswith(f"\n{len(RUNGS)} passed\n")
    assert HOSTILE.split()[0] in text
