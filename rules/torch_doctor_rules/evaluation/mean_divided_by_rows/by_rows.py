"""Sums of batch means that are divided by the number of samples, and weighted or summed losses divided by that of batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from torch_doctor.trace import Averaged, LossCalled, Meaned, Multiplied, Summed
from torch_doctor_rules.judging.batch_means import batch_of, divides_by_batches, divides_by_rows, inside, loader_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Scope, Trace

Division: TypeAlias = "tuple[Averaged, Summed, LossCalled | Meaned, Scope]"
"""A division, the last addition of what is divided, one of the means that were added, and the batch that it is of."""


MEAN = "this is the mean over one batch"
SUM = "this is the sum over one batch"


class Said(NamedTuple):
    """What a finding says of such divisions: the notes of the loss and of the addition; `by` is what to write instead.

    In that, `{}` is the loader.
    """

    text: str
    help: str
    note: str
    by: str
    of: str

    def replaces(self, trace: Trace, average: Averaged, batch: Scope) -> bool:
        """Whether `by` is surely the right divisor: where it counts samples, the loader has to draw all of them."""
        loader = loader_of(trace, batch)
        whole = loader is not None and loader.drop_last is False and not loader.indexed and bool(average.length)
        return whole or "dataset" not in self.by


BY_ROWS: Final = Said(
    "`{sum}` sums one mean per batch: divided by the number of samples, it is too small",
    "divide by the number of batches, or weight each batch by its size",
    "every mean is added here",
    "len({})",
    MEAN,
)
BY_BATCHES: Final = Said(
    "`{sum}` weights each batch by its size: divided by the number of batches, it is too large",
    "divide by the number of samples",
    "it is multiplied by the size of the batch and added here",
    "len({}.dataset)",
    MEAN,
)
OF_SUMS: Final = BY_BATCHES._replace(
    text="`{sum}` sums the losses of all samples: divided by the number of batches, it is too large",
    note="every sum is added here",
    of=SUM,
)


def by_rows(trace: Trace) -> Iterator[Division]:
    """Each such division, the last addition, one of the means, and the batch that it is of."""
    multiplied = _multiplied(trace)
    for average in trace.of(Averaged):
        sums = [event for event in trace.at(*sorted(average.sums)) if isinstance(event, Summed)]
        if not sums or average.sums & multiplied or not all(event.means for event in sums):
            continue
        added = sums[-1]
        mean = next((e for e in trace.at(*sorted(added.means)) if isinstance(e, (LossCalled, Meaned))), None)
        batch = None if mean is None else batch_of(mean)
        if mean is None or batch is None or not _adds_up(added, batch) or inside(average, batch):
            continue
        loader = loader_of(trace, batch)
        if loader is not None and loader.batch not in (0, 1) and divides_by_rows(trace, average, batch, loader):
            yield average, added, mean, batch


def by_batches(trace: Trace) -> Iterator[Division]:
    """Each division by the number of batches of summed losses, or of means that were weighted by the size of their batch."""
    averages = trace.of(Averaged)
    for average in averages:
        sums = [event for event in trace.at(*sorted(average.sums)) if isinstance(event, Summed)]
        others = [
            each
            for each in averages
            if each is not average and each.scope is average.scope and each.sums & average.sums
        ]
        if not sums or others or not all(event.weighted for event in sums) or average.sums & _multiplied(trace):
            continue
        added = sums[-1]
        mean = next((e for e in trace.at(*sorted(added.weighted)) if isinstance(e, (LossCalled, Meaned))), None)
        batch = None if mean is None else batch_of(mean)
        if mean is None or batch is None or not _adds_up(added, batch) or inside(average, batch):
            continue
        loader = loader_of(trace, batch)
        if loader is not None and loader.batch not in (0, 1) and divides_by_batches(trace, average, batch, loader):
            yield average, added, mean, batch


def _adds_up(added: Summed, batch: Scope) -> bool:
    """Return whether a sum gets one number of each batch: within their loop, or of a list of these."""
    return added.at_once or batch_of(added) is batch


def divisions(trace: Trace) -> Iterator[tuple[Said, Division]]:
    """All such divisions, with what is said of each."""
    yield from ((BY_ROWS, each) for each in by_rows(trace))
    for each in by_batches(trace):
        summed = isinstance(each[2], LossCalled) and each[2].reduction == "sum"
        yield OF_SUMS if summed else BY_BATCHES, each


def _multiplied(trace: Trace) -> frozenset[int]:
    return frozenset[int]().union(*(event.sums for event in trace.of(Multiplied)))
