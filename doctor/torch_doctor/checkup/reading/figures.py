"""What the figures of a sentence say: that something falls, grows, swings, is large or takes long."""

from __future__ import annotations

import re
from itertools import pairwise

FALLS, GROWS, SWINGS = " decreasing ", " increasing ", " fluctuates "
"""The words for figures that follow each other."""
_FIGURE = r"\d+(?:\.\d+)?(?:e[-+]?\d+)?"
_ABOUT = r"(?:(?:about|around|nearly|almost|approximately|over|more\ than|for|up\ to|only|~)\s*)?"
_UNIT = r"(?:\s?(?:%|[kmg]i?b?\b|it/s|s/it|ms\b|s\b|secs?\b|seconds?\b|mins?\b|minutes?\b|hours?\b|h\b|days?\b))?"
_TIME = r"(?:s|secs?|seconds?|mins?|minutes?|hours?|h|days?)\b"
_ARROW = r"\s*(?:-+>|=+>|\u2192)\s*"
_ONE = rf"(?<![\w.]){_ABOUT}{_FIGURE}{_UNIT}"
_CHAIN = re.compile(rf"\bfrom\s+(?:the\s+)?{_ONE}\s+(?:down\s+|up\s+)?to\s+{_ONE}|{_ONE}(?:{_ARROW}{_ONE})+")
_TAKES = re.compile(rf"\b(takes?|took|taking|costs?|needs?|waits?|spends?)\s+{_ABOUT}{_FIGURE}\s*{_TIME}")
_LARGE = re.compile(
    rf"(?:\b(?:is|was|are|about|around)|=)\s*{_ABOUT}\d{{4,}}(?:\.\d+)?\b(?!\s*(?:step|iter|epoch|image|sample|class|frame|batch))"
)


def spoken(text: str) -> str:
    """The text with words in place of the figures that say something."""
    text = _CHAIN.sub(lambda match: _course(match[0]), text)
    return _LARGE.sub(" is very high ", _TAKES.sub(r" takes long ", text))


def _course(text: str) -> str:
    """How figures that follow each other go."""
    steps = [float(after) - float(before) for before, after in pairwise(re.findall(_FIGURE, text))]
    if any(step > 0 for step in steps) and any(step < 0 for step in steps):
        return SWINGS
    return GROWS if sum(steps) > 0 else FALLS if sum(steps) < 0 else " "
