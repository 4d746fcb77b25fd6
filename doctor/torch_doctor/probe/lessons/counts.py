"""How many classes, or files, a made-up folder has, where the error names their number beside the wanted one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from torch_doctor.probe.lessons.lesson import Lesson, numbers

if TYPE_CHECKING:
    from torch_doctor.probe.lessons.lesson import Failure

COUNTED = re.compile(r"(\d+) (classes|names of files)$")
"""What the agent says of a folder that it has filled, or of names that it has given."""
MOST = 256


def read(failure: Failure) -> Lesson | None:
    """The only other number in an error that names how many there are."""
    named = numbers(failure.words)
    for stand_in in failure.guessed():
        found = COUNTED.search(stand_in.how)
        wanted = {each for each in named if found is not None and each != int(found[1])}
        if found is None or int(found[1]) not in named or len(wanted) != 1:
            continue
        count = wanted.pop()
        if 1 < count <= MOST and not failure.knows("count", stand_in.what):
            return Lesson("count", stand_in.what, count, f"`{stand_in.what}` has {count} {found[2]}")
    return None
