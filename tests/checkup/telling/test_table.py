"""The samples that the model answers worst, as CSV."""

from __future__ import annotations

import csv
import io

from tests.checkup.telling.conftest import HOSTILE, checkup, png
from torch_doctor.checkup.outcome import Plot, Rung, Sample
from torch_doctor.checkup.telling.table import COLUMNS, table


def rows(*samples: Sample, rung: str = "errors") -> list[list[str]]:
    plot = Plot("Worst mistakes", "samples", "", samples=list(samples))
    return list(csv.reader(io.StringIO(table(checkup(Rung(rung, "shown", "", plots=[plot]))))))


def test_each_sample_is_a_row() -> None:
    found = rows(
        Sample("val.dataset[3]", "dog", "cat", 0.75, 2.5, "a, b"), Sample("val.dataset[4]", loss=1 / 3, png=png())
    )
    assert found == [
        list(COLUMNS),
        ["val.dataset[3]", "dog", "cat", "0.75", "2.5", "a, b"],
        ["val.dataset[4]", "", "", "", "0.333333", f"data:image/png;base64,{png()}"],
    ]


def test_text_of_the_data_stays_text_in_a_spreadsheet() -> None:
    [row] = rows(Sample(HOSTILE, "=1+1", "-3.5", None, None, "@SUM(A1)"))[1:]
    assert row[:3] == [HOSTILE, "'=1+1", "-3.5"]
    assert row[5] == "'@SUM(A1)"


def test_samples_of_other_rungs_are_no_errors() -> None:
    assert rows(Sample("a"), rung="small-subset") == [list(COLUMNS)]
