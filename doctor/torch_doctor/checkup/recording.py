"""A checkup for programs: one JSON object with every number."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from torch_doctor.checkup.outcome import Checkup  # noqa: TC001 - as the structure that is written
from torch_doctor.report.records import record


def recorded(checked: Checkup) -> dict[str, Any]:
    """The checkup as plain values; findings as `scan --output-format json` writes them."""
    found: dict[str, Any] = msgspec.to_builtins(
        msgspec.structs.replace(
            checked, findings=[], rungs=[msgspec.structs.replace(rung, findings=[]) for rung in checked.rungs]
        )
    )
    found["findings"] = [record(finding) for finding in checked.findings]
    for plain, rung in zip(found["rungs"], checked.rungs, strict=True):
        plain["findings"] = [record(finding) for finding in rung.findings]
    return found


def text(checked: Checkup) -> str:
    """The checkup as JSON, with a line break at its end."""
    return json.dumps(recorded(checked), indent=2, ensure_ascii=False) + "\n"
