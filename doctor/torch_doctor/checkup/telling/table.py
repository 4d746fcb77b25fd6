"""The samples that the model answers worst, as CSV."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch_doctor.checkup.outcome import Checkup

ERRORS = "errors"
COLUMNS = ("sample", "label", "prediction", "confidence", "loss", "input")
FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""Beginnings of a cell that a spreadsheet runs as a formula (OWASP, "CSV Injection")."""


def table(checked: Checkup) -> str:
    """Return the samples of the rung `errors` as CSV with a header, in the order of the report: the highest loss first.

    A picture is `data:image/png;base64,…`. What does not apply, or was not to be shown, is empty. A text that a spreadsheet would
    run as a formula begins with an apostrophe.
    """
    written = io.StringIO()
    rows = csv.writer(written, lineterminator="\n")
    rows.writerow(COLUMNS)
    for rung in checked.rungs:
        for each in (sample for plot in rung.plots for sample in plot.samples if rung.name == ERRORS):
            picture = f"data:image/png;base64,{each.png}" if each.png else ""
            numbers = ["" if number is None else f"{number:.6g}" for number in (each.confidence, each.loss)]
            texts = [_text(text) for text in (each.name, each.label, each.prediction)]
            rows.writerow([*texts, *numbers, picture or _text(each.text)])
    return written.getvalue()


def _text(text: str) -> str:
    return f"'{text}" if text.startswith(FORMULA) and not _is_number(text) else text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
