"""A checkup as one HTML file: nothing in it is loaded from elsewhere, and nothing in it runs."""

from __future__ import annotations

import base64
import binascii
from importlib import resources
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup, escape

from torch_doctor.checkup.telling.drawing import svg
from torch_doctor.checkup.telling.words import MEANINGS, SIGNS, counts, grouped, standing, value, what_next
from torch_doctor.report.links import url_of

if TYPE_CHECKING:
    from torch_doctor.checkup.outcome import Checkup, Image, Plot

TEMPLATE = "page.html"
DRAWN = frozenset(("lines", "bars", "matrix"))
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
        "grouped": grouped,
        "meanings": MEANINGS,
        "next": list(what_next(checked)),
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


def _picture(image: Image) -> str:
    """The address of a picture in the page itself; "" for what is no PNG."""
    try:
        content = base64.b64decode(image.png, validate=True)
    except (binascii.Error, ValueError):
        return ""
    return f"data:image/png;base64,{image.png}" if content.startswith(PNG) else ""
