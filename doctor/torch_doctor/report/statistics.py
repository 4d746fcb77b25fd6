"""How many findings there are of each rule."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

from torch_doctor.report.paint import LEVEL_COLOURS

if TYPE_CHECKING:
    from torch_doctor.report.reported import Look, Reported


def render(reported: Reported, look: Look) -> str:
    """A line per rule, the most frequent first."""
    rows = _counted(reported)
    width = max((len(str(count)) for *_, count in rows), default=0)
    levels = {finding.code: finding.level for finding in reported.findings}
    return "".join(
        f"{count:>{width}}  {look.paint(code, 'bold', LEVEL_COLOURS[levels[code]])}  {name}\n"
        for code, name, count in rows
    )


def render_json(reported: Reported, look: Look) -> str:  # noqa: ARG001 - every format is called alike
    """A JSON list."""
    rows = [{"code": code, "name": name, "count": count} for code, name, count in _counted(reported)]
    return json.dumps(rows, indent=2) + "\n"


def _counted(reported: Reported) -> list[tuple[str, str, int]]:
    counts = Counter((finding.code, finding.name) for finding in reported.findings)
    return [(code, name, count) for (code, name), count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]
