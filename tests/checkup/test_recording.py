"""A checkup as JSON."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

import pytest

from tests.checkup.telling.conftest import STATUSES, checkup
from tests.checkup.telling.conftest import rung as examined
from torch_doctor.checkup.outcome import RUNGS, Checkup, Fact, Mark, Plot, Rung, Series
from torch_doctor.checkup.recording import text
from torch_doctor.report.records import record

if TYPE_CHECKING:
    from typing import NoReturn


def refused(constant: str) -> NoReturn:
    pytest.fail(f"{constant} is no JSON")


def test_numbers_that_are_not_finite_are_strings() -> None:
    facts = [Fact("loss", math.nan), Fact("largest", math.inf), Fact("least", -math.inf), Fact("rows", 3)]
    plots = [
        Plot("", "lines", "", series=[Series("", [1.0, 2.0], [math.inf, None])], marks=[Mark("", math.nan)]),
        Plot("", "matrix", "", rows=[[1.0, math.nan]]),
    ]
    written = text(Checkup("train.py", [], "cpu", [Rung("inspect", "shown", "", facts, plots=plots)]))
    [rung] = json.loads(written, parse_constant=refused)["rungs"]
    assert [fact["value"] for fact in rung["evidence"]] == ["NaN", "Infinity", "-Infinity", 3]
    assert rung["plots"][0]["series"][0]["y"] == ["Infinity", None]
    assert rung["plots"][0]["marks"] == [{"label": "", "x": "NaN"}]
    assert rung["plots"][1]["rows"] == [[1.0, "NaN"]]


def test_a_rung_has_its_findings_as_scan_writes_them() -> None:
    ordinary = checkup(*(examined(name, STATUSES[place % 4]) for place, name in enumerate(RUNGS)))
    told = json.loads(text(ordinary))
    assert [rung["name"] for rung in told["rungs"]] == list(RUNGS)
    for one, rung in zip(told["rungs"], ordinary.rungs, strict=True):
        assert {"name", "status", "reason", "evidence", "findings", "plots"} <= one.keys()
        assert one["findings"] == json.loads(json.dumps([record(each) for each in rung.findings]))
    assert any(one["findings"] for one in told["rungs"])
