"""From an exception to a lesson: the first of the kinds that has something to say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.probe.lessons import (
    arrays,
    choices,
    counts,
    files,
    forms,
    gpus,
    keys,
    kinds,
    parts,
    pictures,
    ranges,
    shapes,
    sought,
    versions,
)
from torch_doctor.probe.lessons.lesson import Failure

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType

    from torch_doctor.probe.lessons.lesson import Lesson
    from torch_doctor.trace import Run

ORDER = (shapes, arrays, forms, pictures, ranges, choices, gpus, keys, kinds, parts, versions, counts, sought, files)

MISSING = "FileNotFoundError"


def learn(run: Run, known: Sequence[Lesson], text: Callable[[str], str]) -> list[Lesson]:
    """What a run teaches that came to too few updates: what the statements teach that were left out before, else its end.

    Nothing, where the exception is the script's own, or nothing new can be read from it.
    """
    found: list[Lesson] = []
    for end in (*run.left_out, run.end):
        lesson = _of(Failure(run, end, (*known, *found), text), ORDER[:-1] if end is not run.end else ORDER)
        if lesson is not None and (end is not run.end or not found):
            found = [each for each in found if (each.kind, each.what) != (lesson.kind, lesson.what)] + [lesson]
    further = any(MISSING not in (each.values.get("kinds") or ()) for each in run.left_out)
    if found and further:  # what was read of such files did not do, and there is another attempt
        found += files.settings(Failure(run, run.end, (*known, *found), text))
    return found


def _of(failure: Failure, order: Sequence[ModuleType]) -> Lesson | None:
    for kind in order:
        lesson: Lesson | None = kind.read(failure)
        if lesson is not None and not any(lesson.same(known) for known in failure.lessons):
            return lesson
    return None
