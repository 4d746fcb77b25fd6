"""The output formats by name, each imported when it is asked for."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from torch_doctor.report.reported import Look, Reported

    Render: TypeAlias = Callable[[Reported, Look], str]

FORMATS = {
    "full": "full:render",
    "short": "short:render",
    "concise": "concise:render",
    "json": "records:render",
    "json-lines": "records:render_lines",
    "grouped": "grouped:render",
    "github": "github:render",
    "gitlab": "gitlab:render",
    "azure": "azure:render",
    "junit": "junit:render",
    "pylint": "pylint:render",
    "rdjson": "rdjson:render",
    "sarif": "sarif:render",
    "markdown": "markdown:render",
}
STATISTICS = {
    "full": "statistics:render",
    "short": "statistics:render",
    "concise": "statistics:render",
    "json": "statistics:render_json",
}


def renderer(name: str, *, statistics: bool = False) -> Render:
    """The function that renders a format; counts instead of findings where a format knows them."""
    target = STATISTICS.get(name, FORMATS[name]) if statistics else FORMATS[name]
    module, _, function = target.partition(":")
    chosen: Render = getattr(importlib.import_module(f"torch_doctor.report.{module}"), function)
    return chosen
