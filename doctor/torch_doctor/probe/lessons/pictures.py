"""Pictures that are too small for what the script cuts out of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from torch_doctor.probe.lessons.lesson import Lesson, numbers

if TYPE_CHECKING:
    from torch_doctor.probe.lessons.lesson import Failure

DRAWN = re.compile(r"random (?:pictures|masks|images) (\d+)×\1\b")
"""What the agent says of pictures that are made up."""
CUT = re.compile(r"[Cc]rop\b.*\b(?:larger|exceeds?|bigger|greater)|image (?:is )?(?:too small|smaller than)")
DRAWING = re.compile(r"\bhigh <= 0|low >= high|empty range (?:for|in) rand")
"""What is said of a place that is drawn where no place is left."""
MOST = 2048


def read(failure: Failure) -> Lesson | None:
    """A part that is larger than the whole: the size that the error names, or twice the one that the pictures have."""
    sides = [int(found[1]) for each in failure.guessed() if (found := DRAWN.search(each.how))]
    if not sides or not (CUT.search(failure.words) or DRAWING.search(failure.words)):
        return None
    side = max(sides)
    named = [each for each in numbers(failure.words) if side < each <= MOST] if CUT.search(failure.words) else []
    wanted = max(named, default=4 * side)
    if wanted > MOST or any(each.kind == "side" and each.value >= wanted for each in failure.lessons):
        return None
    return Lesson("side", "pictures", wanted, f"made-up pictures have {wanted}×{wanted} points")
