"""Whole numbers that are too large: for a table of embeddings, or as the numbers of classes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from torch_doctor.probe.lessons.lesson import Lesson

if TYPE_CHECKING:
    from torch_doctor.probe.lessons.lesson import Failure

BELOW = "values"
DRAWN = re.compile(r"random numbers|synthetic (?:text|rows)")
"""Substitutes that ask for a limit of their numbers and words."""
WHOLE = re.compile(
    r"scalar types: Long, Int; but got torch\.\w*(?:Double|Float)Tensor|expected scalar type Long but found (?:Double|Float)"
    r"|expected target dtype to be Long or Byte, but got (?:Double|Float)"
    r"|only applicable to index tensor|(?:used as indices must be (?:long|of integer))"
)
"""What is said of numbers that are not whole, and stand for entries of a table or for classes."""
TARGET = re.compile(r"Target (\d+) is out of bounds|Class values must be smaller than num_classes")


def read(failure: Failure) -> Lesson | None:
    """An index above a vocabulary, a class above those that a model tells apart, or a number that is no index."""
    whole = WHOLE.search(failure.words) is not None
    if whole and not failure.knows("whole", BELOW) and any(DRAWN.search(each.how) for each in failure.guessed()):
        return Lesson("whole", BELOW, value=True, words="placeholder numbers are whole")
    high = _entries(failure) or _classes(failure)
    if not high or not any(DRAWN.search(each.how) for each in failure.guessed()):
        return None
    if any(each.kind == "range" and each.value <= high for each in failure.lessons):
        return None
    return Lesson("range", BELOW, high, f"placeholder numbers are below {high}")


def _entries(failure: Failure) -> int:
    """How many entries the table has in which an index was looked up."""
    if not failure.is_a("IndexError") or "index out of range in self" not in failure.words:
        return 0
    return int((failure.values.get("layer") or {}).get("num_embeddings") or 0)


def _classes(failure: Failure) -> int:
    """How many classes the scores tell apart of which a target is none."""
    if not TARGET.search(failure.words):
        return 0
    shape: list[int] = (failure.values.get("input") or {}).get("shape") or [0]
    return shape[1] if len(shape) > 1 else shape[0]
