"""Scripts that give up without a GPU, wherever they have looked for one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from torch_doctor.probe.lessons.lesson import Lesson

if TYPE_CHECKING:
    from torch_doctor.probe.lessons.lesson import Failure

ABOUT = re.compile(r"\b(?:cuda|gpus?)\b", re.IGNORECASE)
GIVING_UP = ("raise", "assert")


UNSET = ("UnboundLocalError", "NameError")
ASKED = re.compile(r"\bcuda\.(?:is_available|device_count)\(")


def read(failure: Failure) -> Lesson | None:
    """That there is a GPU, where the script itself says that it needs one, or has set a name only where there is one."""
    unset = failure.is_a(*UNSET) and failure.end.frames and ASKED.search(failure.text(failure.end.frames[-1].site.path))
    said = failure.line.startswith(GIVING_UP) and ABOUT.search(f"{failure.line} {failure.words}")
    if failure.knows("gpu", "") or not (unset or said):
        return None
    return Lesson("gpu", "", value=True, words="the script is told that there is a GPU")
