"""What the columns of made-up tables hold, by their names."""

from __future__ import annotations

import datetime as dt
import random
import re
from typing import Any

ROWS = 512
SMALL = 64  # whole numbers stay below it
LABELS = (
    "label",
    "target",
    "class",
    "category",
    "sentiment",
    "species",
    "diagnosis",
    "survived",
    "quality",
    "outcome",
    "y",
)
TEXTS = (
    "text",
    "sentence",
    "review",
    "title",
    "tweet",
    "question",
    "comment",
    "content",
    "headline",
    "message",
    "caption",
)
WHOLE = (
    "id ids idx index user users item items movie year age count counts number num code zip day month hour week rank "
    "rating ratings fold cluster node src dst source edge"
).split()
"""Words in the names of columns of whole numbers."""
PICTURES = ("image", "img", "file", "path", "filename", "picture", "photo")
BOXES = frozenset({"bbox", "bboxes"})
CORNER = (128, 160)  # right and lower side of a box, or its width and height
LOW, HIGH = ("xmin", "ymin"), ("xmax", "ymax")
DATES = frozenset({"date", "dates", "datetime"})
WORDS = "the a good bad small big film story is was never always ends begins well badly".split()
KINDS: dict[str, str] = {}
"""What columns hold, as an earlier attempt has learnt: "text", "number", or "date", perhaps with its form."""


def values_of(name: str) -> list[Any]:  # noqa: PLR0911 - by kind
    """Values for a column of this name."""
    draw = random.Random(name)  # noqa: S311 - made-up values
    words = re.findall(r"[a-z0-9]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower())
    words += [word[:-1] for word in words if word.endswith("s")]
    if name in KINDS:
        return _known(KINDS[name], draw)
    if any(word in DATES for word in words):
        return all_dates()
    if any(word in PICTURES for word in words):
        return [f"{number:04}.jpg" for number in range(ROWS)]
    if any(word in BOXES for word in words):
        return [str([draw.randrange(64), draw.randrange(64), *CORNER]) for _ in range(ROWS)]
    if name.lower().replace("_", "") in (*LOW, *HIGH):
        return [draw.randrange(64) + 128 * (name.lower().replace("_", "") in HIGH) for _ in range(ROWS)]
    if any(word in TEXTS for word in words):
        return [" ".join(draw.choices(WORDS, k=8)) for _ in range(ROWS)]
    if any(word in LABELS for word in words):
        return [number % 2 for number in range(ROWS)]
    if any(word in WHOLE for word in words) or any(word.endswith(("id", "ids")) for word in words):
        return [draw.randrange(SMALL) for _ in range(ROWS)]
    return [round(draw.gauss(0, 1), 4) for _ in range(ROWS)]


def _known(kind: str, draw: random.Random) -> list[Any]:
    """Values of a kind that was learnt."""
    kind, _, form = kind.partition(" ")
    if kind == "text":
        return [" ".join(draw.choices(WORDS, k=8)) for _ in range(ROWS)]
    if kind == "number":
        return [round(draw.gauss(0, 1), 4) for _ in range(ROWS)]
    return [dt.date.fromisoformat(each).strftime(form) if form else each for each in all_dates()]


def all_dates() -> list[str]:
    """One day after the other."""
    first = dt.date(2020, 1, 1)
    return [(first + dt.timedelta(days=number)).isoformat() for number in range(ROWS)]
