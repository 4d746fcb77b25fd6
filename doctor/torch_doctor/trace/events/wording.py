"""Phrases that the events use when they say themselves in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch_doctor.trace.words import Tri

_TORCH_PREFIXES = ("torch.nn.functional.", "torch.nn.", "torch.optim.lr_scheduler.", "torch.optim.", "torch.")
_SPACES = pattern(r"\s+")
_LONGEST_NAME = 50


def short(name: str) -> str:
    """A torch name without the part that everybody knows."""
    for prefix in _TORCH_PREFIXES:
        if name.startswith(prefix):
            return name.removeprefix(prefix)
    return name


def quoted(name: str) -> str:
    """The user's expression in backticks, on one line; "something" where there is none."""
    return f"`{on_one_line(name)}`" if name else "something"


def on_one_line(text: str) -> str:
    """The user's expression, short enough to stand in a sentence."""
    text = _SPACES.sub(" ", text)
    return text if len(text) <= _LONGEST_NAME else f"{text[: _LONGEST_NAME - 1]}…"


def autograd(enabled: Tri) -> str:
    """Whether autograd records."""
    return {True: "autograd on", False: "autograd off", None: "autograd unknown"}[enabled]


def in_brackets(traits: Iterable[str]) -> str:
    """The traits behind what has them; nothing where there are none."""
    shown = ", ".join(traits)
    return f" ({shown})" if shown else ""


def unused(used: bool) -> str:  # noqa: FBT001 - a field
    """The words for a result that nothing reads."""
    return "" if used else ", but is not used"
