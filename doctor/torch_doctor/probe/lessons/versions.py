"""Arguments that a function of a library no longer takes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from torch_doctor.probe.lessons.lesson import Lesson

if TYPE_CHECKING:
    from torch_doctor.probe.lessons.lesson import Failure

CHANGING = frozenset(("torch", "torchvision", "torchaudio", "numpy", "scipy"))
"""Packages of which old scripts give arguments that are gone, and go on without; with others, they fail by themselves."""
UNEXPECTED = re.compile(r"got an unexpected keyword argument '(\w+)'")


def read(failure: Failure) -> Lesson | None:
    """A keyword that a function of a library does not know."""
    found, callee = UNEXPECTED.search(failure.words), failure.values.get("callee")
    if found is None or not isinstance(callee, str) or callee.partition(".")[0] not in CHANGING:
        return None
    return Lesson("keyword", callee, found[1], f"`{found[1]}=` of {callee} is left out")
