"""Weights of steps or positions that a softmax normalizes over the samples of a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Keyword
from torch_doctor.trace import Trace, WeightsSummed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.edits import Edit

TEXT = "`{function}` normalizes weights over the batch, but `{product}` sums over another dimension"
_HELP = "normalize over the dimension that is summed over"


def over_batch(trace: Trace) -> Iterator[WeightsSummed]:
    """Yield weights that are normalized over the samples, each from a score of its own, and summed over another dimension."""
    right = {each.site for each in trace.of(WeightsSummed) if each.along == each.summed or each.compared}
    for event in trace.of(WeightsSummed):
        over_rows = event.of_samples or (trace.observed and event.along == -event.dims)
        if over_rows and event.weights != 1 and event.site not in right:
            yield event


def remedy(event: WeightsSummed) -> str:
    """Return what to do."""
    return f"{_HELP}: `dim={_summed(event)}`"


def is_remedy(text: str) -> bool:
    """Whether this is the help of a finding about weights."""
    return text.startswith(_HELP)


def edits(event: WeightsSummed) -> list[Edit]:
    """Return the edit that normalizes over the dimension that is summed over."""
    return [Keyword(event.site, "dim", str(_summed(event)), -1)] if event.by_call else []


def _summed(event: WeightsSummed) -> int:
    return event.summed + event.dims if event.dims and event.from_start else event.summed
