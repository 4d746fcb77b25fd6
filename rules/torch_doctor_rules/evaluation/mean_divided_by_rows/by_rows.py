"""Sums of batch means that are divided by the number of samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace import Averaged, LossCalled, Meaned, Multiplied, Summed
from torch_doctor_rules.judging.batch_means import batch_of, divides_by_rows, inside, loader_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Scope, Trace


def by_rows(trace: Trace) -> Iterator[tuple[Averaged, Summed, LossCalled | Meaned, Scope]]:
    """Each such division, the last addition, one of the means, and the batch that it is of."""
    multiplied = frozenset[int]().union(*(event.sums for event in trace.of(Multiplied)))
    for average in trace.of(Averaged):
        sums = [event for event in trace.at(*sorted(average.sums)) if isinstance(event, Summed)]
        if not sums or average.sums & multiplied or not all(event.means for event in sums):
            continue
        added = sums[-1]
        mean = next((e for e in trace.at(*sorted(added.means)) if isinstance(e, (LossCalled, Meaned))), None)
        batch = None if mean is None else batch_of(mean)
        if mean is None or batch is None or batch_of(added) is not batch or inside(average, batch):
            continue
        loader = loader_of(trace, batch)
        if loader is not None and loader.batch not in (0, 1) and divides_by_rows(trace, average, batch, loader):
            yield average, added, mean, batch
