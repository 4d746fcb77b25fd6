"""A checkup for programs: one JSON object with every number.

JSON knows no numbers that are not finite: they are the strings `"NaN"`, `"Infinity"` and `"-Infinity"`.
"""

from __future__ import annotations

import json
import math
from typing import Any

import msgspec

from torch_doctor.checkup.outcome import Checkup  # noqa: TC001 - as the structure that is written
from torch_doctor.report.records import record


def recorded(checked: Checkup) -> dict[str, Any]:
    """The checkup as plain values that JSON knows; findings as `scan --output-format json` writes them."""
    found: dict[str, Any] = msgspec.to_builtins(
        msgspec.structs.replace(
            checked, findings=[], rungs=[msgspec.structs.replace(rung, findings=[]) for rung in checked.rungs]
        )
    )
    found["findings"] = [record(finding) for finding in checked.findings]
    for plain, rung in zip(found["rungs"], checked.rungs, strict=True):
        plain["findings"] = [record(finding) for finding in rung.findings]
    return {name: _finite(value) for name, value in found.items()}


def text(checked: Checkup) -> str:
    """The checkup as JSON, with a line break at its end."""
    return json.dumps(recorded(checked), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _finite(value: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
    """The value, in which numbers that are not finite are strings."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_finite(each) for each in value]
    return value
