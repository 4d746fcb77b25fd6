"""Settings of another type than was made up for them: a number where a list is wanted, a text where a number is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from torch_doctor.probe.lessons.lesson import Lesson

if TYPE_CHECKING:
    from torch_doctor.probe.lessons.lesson import Failure

SETTING = "in a file not found"
"""Why the agent makes up a setting."""
WANTED = (
    ("mapping", r"must be a mapping|has no attribute '(?:items|keys|values|get|pop)'|indices must be integers"),
    ("list", r"is not iterable|has no len\(\)|is not subscriptable|cannot unpack non-iterable"),
    ("text", r"expected str|must be str|str instance expected|has no attribute '(?:lower|upper|split|startswith)'"),
    (
        "number",
        r"but got str|be interpreted as an integer|'str' and '(?:int|float)'|'(?:int|float)' and 'str'|of type 'str'",
    ),
)
"""What the words of a `TypeError` or an `AttributeError` say is wanted."""
IN_WORDS = {"mapping": "a mapping", "list": "a list", "text": "a text", "number": "a number"}


def read(failure: Failure) -> Lesson | None:
    """A setting in the line that failed, or in one that gives it its values, that has to be of another type."""
    form = next((form for form, pattern in WANTED if re.search(pattern, failure.words)), "")
    if not form or not failure.is_a("TypeError", "AttributeError"):
        return None
    is_text = form == "number" or "'str' object" in failure.words
    made_up = [
        each
        for each in failure.run.stand_ins
        if each.why == SETTING and each.how.startswith("'") is is_text and not failure.knows("form", each.what)
    ]
    shown = {repr(value) for value in failure.terms.values()}
    made_up.sort(key=lambda each: each.how not in shown)
    for line, stand_in in ((line, each) for line in failure.feeding() for each in made_up):
        if re.search(rf"\b{re.escape(stand_in.what.rpartition('.')[2])}\b", line):
            return Lesson("form", stand_in.what, form, f"`{stand_in.what}` is {IN_WORDS[form]}")
    return None
