"""A checkup as one HTML file: nothing in it is loaded from elsewhere, and nothing in it runs."""

from __future__ import annotations

import base64
import binascii
import itertools
from importlib import resources
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup, escape

from torch_doctor.checkup.telling.drawing import svg
from torch_doctor.checkup.telling.words import MEANINGS, SIGNS, counts, grouped, standing, value, what_next
from torch_doctor.report.links import url_of

if TYPE_CHECKING:
    from torch_doctor.checkup.outcome import Checkup, Image, Plot, Rung, Sample

TEMPLATE = "page.html"
DRAWN = frozenset(("lines", "bars", "matrix", "histograms"))
SHORT = 60
"""Characters of a label and an answer that are the name of a group."""
PNG = b"\x89PNG\r\n\x1a\n"


def page(checked: Checkup) -> str:
    """The page; all text of the script is escaped.

    Raises:
        ImportError: matplotlib or Jinja2 is not installed: they come with the extra `report`.
    """
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["coded"] = _coded
    source = resources.files(__package__).joinpath(TEMPLATE).read_text(encoding="utf-8")
    told: dict[str, Any] = {
        "checked": checked,
        "counts": counts(checked),
        "drawn": _drawn,
        "figures": figures,
        "grouped": grouped,
        "meanings": MEANINGS,
        "next": list(what_next(checked)),
        "pairs": pairs,
        "picture": _picture,
        "signs": SIGNS,
        "standing": standing(checked.findings),
        "url_of": url_of,
        "value": value,
    }
    return environment.from_string(source).render(told)


def _coded(text: str) -> Markup:
    """The text, in which what stands in backticks is code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    pieces = (
        escape(part) if place % 2 == 0 else Markup("<code>{}</code>").format(part) for place, part in enumerate(parts)
    )
    return Markup().join(pieces)


def _drawn(plot: Plot) -> Markup | None:
    """The figure as SVG; None for what the page itself shows."""
    return Markup(svg(plot)) if plot.kind in DRAWN else None  # noqa: S704 - matplotlib escapes what it is given


def figures(rung: Rung) -> list[list[Plot]]:
    """The figures of a rung, of which those stand next to each other that are in one list."""
    return [list(same) for _, same in itertools.groupby(rung.plots, key=lambda plot: plot.beside or id(plot))]


def pairs(plot: Plot) -> list[tuple[str, list[Sample]]]:
    """The samples by label and answer, the most frequent pair first, each with the most confident answer first."""
    groups: dict[str, list[Sample]] = {}
    for each in plot.samples:
        known = len(each.label) + len(each.prediction) <= SHORT and each.confidence is not None
        groups.setdefault(f"{each.label} → {each.prediction}" if known else "", []).append(each)
    if len(groups) > max(1, len(plot.samples) // 2):  # nothing is gathered where each pair comes once
        groups = {"": list(plot.samples)}
    for own in groups.values():
        own.sort(key=lambda each: (-(each.confidence or 0.0), -(each.loss or 0.0)))
    return sorted(groups.items(), key=lambda pair: -len(pair[1]))


def _picture(image: Image | Sample) -> str:
    """The address of a picture in the page itself; "" for what is no PNG."""
    try:
        content = base64.b64decode(image.png, validate=True)
    except (binascii.Error, ValueError):
        return ""
    return f"data:image/png;base64,{image.png}" if content.startswith(PNG) else ""
