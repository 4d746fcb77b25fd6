"""The output formats by name, each imported when it is asked for."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch_doctor.report.reported import Look, Reported

FORMATS = {
    "full": "full:render",
    "concise": "concise:render",
    "json": "records:render",
    "json-lines": "records:render_lines",
    "github": "github:render",
    "sarif": "sarif:render",
}
STATISTICS = {"full": "statistics:render", "concise": "statistics:render", "json": "statistics:render_json"}


def renderer(name: str, *, statistics: bool = False) -> Callable[[Reported, Look], str]:
    """The function that renders a format; counts instead of findings where a format knows them."""
    target = STATISTICS.get(name, FORMATS[name]) if statistics else FORMATS[name]
    module, _, function = target.partition(":")
    chosen: Callable[[Reported, Look], str] = getattr(
        importlib.import_module(f"torch_doctor.report.{module}"), function
    )
    return chosen
