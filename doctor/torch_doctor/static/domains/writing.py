"""Writes in place: what they leave of what was known of a tensor's numbers, under whichever name it is read next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.domains import constants, padding
from torch_doctor.static.domains.domain import Written
from torch_doctor.static.domains.marking import Marked
from torch_doctor.static.domains.padding import Padded
from torch_doctor.static.training.data import batch_parts
from torch_doctor.static.values import Const, Either

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Making, Value


def write(run: Run, value: Value, new: Value | None = None) -> None:
    """Note that numbers of a value are changed in place: those of what it is a view of are changed as well.

    `new` is the value that is written, if known: ones leave marks of classes what they are.
    """
    batch_parts.changed(run, value)
    padded, written, marked = run.of(Padded), run.of(Written).made, run.of(Marked).ones
    ones = isinstance(new, Const) and new.value == 1
    made = padded.record(value)
    for _, option in value.options if made is None and isinstance(value, Either) else ():
        write(run, option, new)
    while made is not None and (made not in written or (made in marked and not ones)):
        if not ones:
            marked.discard(made)
        elif made not in written:
            marked.add(made)
        written.add(made)
        made = padded.record(made.args[0]) if made.args and _shows(made) else None


def fill(run: Run, allocated: Making, filled: Making) -> None:
    """Note that a row is put into an allocated tensor as far as it goes: what is behind it is padding, `filled`."""
    run.of(Written).made.add(allocated)
    run.of(Padded).filled.setdefault(allocated, filled)


def _shows(made: Making) -> bool:
    """Whether something has the numbers of its first argument, or some of them."""
    return made.name in constants.VIEWS or made.name == "[]" or made.name in padding.TENSORS or padding.arranges(made)
