"""Rows that are compared with columns: what may excuse it, and how it is fixed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Wrap
from torch_doctor.trace import Matched
from torch_doctor_rules.judging.loaders import Loaders
from torch_doctor_rules.judging.loss_shapes import column_and_row, crossed

if TYPE_CHECKING:
    from torch_doctor.edits import Edit
    from torch_doctor.trace import Trace


def may_be_one_row(trace: Trace, match: Matched) -> bool:
    """Whether nobody knows how many rows the loader puts into a batch."""
    number = match.left.loader or match.right.loader
    loader = trace.view(Loaders).built.get(number)
    return loader is not None and loader.batch is None and not trace.observed


def edits(trace: Trace, match: Matched) -> list[Edit]:
    """The column as a row, where it is the same one of the two whenever they meet at this place."""
    alike = [event for event in trace.of(Matched) if event.site == match.site]
    places = {event.left_at if column_and_row(event.left, event.right) else event.right_at for event in alike}
    place = places.pop() if len(places) == 1 and all(crossed(event.left, event.right) for event in alike) else None
    return [] if place is None else [Wrap(place, "{}.squeeze(1)")]
