"""Arguments that a function of a library no longer takes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from torch_doctor.probe.lessons.lesson import Lesson

if TYPE_CHECKING:
    from torch_doctor.probe.lessons.lesson import Failure

CHANGING = frozenset(
    ("torch", "torchvision", "torchaudio", "numpy", "scipy", "transformers", "lightning", "pytorch_lightning")
)
"""Packages whose functions lose arguments between versions that scripts are written for; others fail by themselves."""
UNEXPECTED = re.compile(r"got an unexpected keyword argument '(\w+)'")


def read(failure: Failure) -> Lesson | None:
    """A keyword that a function of a library does not know."""
    found, callee = UNEXPECTED.search(failure.words), failure.values.get("callee")
    if found is None or not isinstance(callee, str) or callee.partition(".")[0] not in CHANGING:
        return None
    return Lesson("keyword", callee, found[1], f"`{found[1]}=` of {callee} is left out")
