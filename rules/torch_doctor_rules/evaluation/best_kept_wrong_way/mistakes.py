"""What is wrong with a comparison that keeps the best model, and the edits that make it right."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from torch_doctor.edits import Wrap
from torch_doctor.trace import HIGHER, LOWER
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.edits import Edit
    from torch_doctor.trace import BestCompared

_LARGE = 100
"""A first best loss of so much is surely meant to be beaten."""


def wrong(event: BestCompared) -> str:
    """Return what is wrong with a comparison; "" if it is right."""
    if event.at_once and event.kept != event.better:
        text = "`{by}` chooses the worst model: `{name}` is better if it is {better}"
        if event.waits:
            text = "`{by}` waits for worse values: `{name}` is better if it is {better}"
        return message(text, by=event.by, name=event.name, better=event.better)
    if event.kept != event.better and event.renewed:
        other = LOWER if event.kept == HIGHER else HIGHER
        text = "{kept} values of `{name}` are kept, but {other} ones are better: the worst model is kept"
        return message(text, name=event.name, kept=event.kept, other=other)
    if event.start is None or event.kept != event.better:
        return ""
    sign = 1 if event.better == LOWER else -1
    start, bound = sign * event.start, None if event.bound is None else sign * event.bound
    hopeless = bound is not None and (start < bound or (start == bound and event.strict))
    if event.renewed and (start == -math.inf or hopeless):
        text = "no `{name}` is {better} than {start}, where `{best}` starts: no model is kept"
        return message(text, name=event.name, best=event.best, better=event.better, start=f"{event.start:g}")
    if not event.renewed and start >= (_LARGE if sign > 0 else 0):
        return message("`{best}` never gets a new value: each model is kept, not the best one", best=event.best)
    return ""


def edits(event: BestCompared) -> Iterator[Edit]:
    """Yield what turns the comparison, and what starts it with infinity."""
    turned, lower = event.kept != event.better, event.better == LOWER
    if not event.renewed or (turned and event.start is not None and event.started is None):
        return
    if turned and event.by_at is not None:
        yield Wrap(event.by_at, event.by.replace(*("max", "min") if lower else ("min", "max")))
    if turned and not event.at_once:
        sign = "<" if lower is event.first else ">"
        sides = (event.name, event.best) if event.first else (event.best, event.name)
        yield Wrap(event.site, f" {sign}{'' if event.strict else '='} ".join(sides))
    if event.start is not None and event.started is not None:
        yield Wrap(event.started, 'float("inf")' if lower else 'float("-inf")')
