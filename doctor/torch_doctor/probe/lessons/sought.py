"""Files and folders that the script asks for, and does without: it stops for want of them later."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from torch_doctor.probe.lessons.lesson import Lesson

if TYPE_CHECKING:
    from torch_doctor.probe.lessons.lesson import Failure

WANTING = ("FileNotFoundError", "ZeroDivisionError", "IndexError", "StopIteration")
EMPTY = re.compile(r"\bempty\b|num_samples=0|at least one|\bno (data|samples)\b", re.IGNORECASE)
"""What is raised where there is nothing to go through."""
SHOWN = 3


def read(failure: Failure) -> Lesson | None:
    """All that were asked for so far are there."""
    paths = failure.values.get("sought") or []
    known: list[str] = next((each.value for each in failure.lessons if each.kind == "sought"), [])
    wanting = failure.is_a(*WANTING) or EMPTY.search(failure.words) or failure.line.startswith("raise")
    if not wanting or set(paths) <= set(known):
        return None
    named = [*known, *(each for each in paths if each not in known)]
    shown = ", ".join(f"`{each}`" for each in named[:SHOWN]) + "…" * (len(named) > SHOWN)
    return Lesson("sought", "", named, f"{shown} {'are' if len(named) > 1 else 'is'} there")
