"""Encodings of positions that are counted along the samples of a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace import PositionsAdded
from torch_doctor_rules.judging.evidence import at, fact

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.rule import Evidence
    from torch_doctor.trace import Site, Trace

TEXT = "`{name}` numbers samples, not steps: all steps of a sample get the same encoding"
HELP = "take as many rows as there are steps, from an encoding that has the steps in dimension 1"


def over_batch(trace: Trace) -> Iterator[PositionsAdded]:
    """Yield the sums that number samples."""
    return (event for event in trace.of(PositionsAdded) if event.over_batch)


def shown(trace: Trace, site: Site) -> Iterator[Evidence]:
    """Yield what a run added at a place: a row for each sample, or for each step."""
    events = at(trace, site, PositionsAdded)
    for event in [*(each for each in events if each.over_batch), *events][:1]:
        rows, steps = event.shape[:2]
        what = "samples" if event.over_batch else "steps"
        yield fact(f"{rows} rows were added to {rows} {what}, each to {steps} at once", rows, "rows", event)
