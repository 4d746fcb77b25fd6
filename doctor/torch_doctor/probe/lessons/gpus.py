"""Scripts that give up without a GPU, wherever they have looked for one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from torch_doctor.probe.lessons.lesson import Lesson

if TYPE_CHECKING:
    from torch_doctor.probe.lessons.lesson import Failure

ABOUT = re.compile(r"\b(?:cuda|gpus?)\b", re.IGNORECASE)
GIVING_UP = ("raise", "assert")


def read(failure: Failure) -> Lesson | None:
    """That there is a GPU, where the script itself says that it needs one."""
    if not failure.line.startswith(GIVING_UP) or not ABOUT.search(f"{failure.line} {failure.words}"):
        return None
    return (
        None
        if failure.knows("gpu", "")
        else Lesson("gpu", "", value=True, words="the script is told that there is a GPU")
    )
