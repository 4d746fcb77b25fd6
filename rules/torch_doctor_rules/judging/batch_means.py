"""Averages over an evaluation: whether a short last batch counts as much in them as a full one."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct

from torch_doctor.trace import (
    Averaged,
    Backward,
    BatchTaken,
    Escaped,
    Forward,
    LoaderBuilt,
    LoopKind,
    LossCalled,
    Meaned,
    Steered,
    Stepped,
    Summed,
)
from torch_doctor_rules.judging.loaders import Loaders
from torch_doctor_rules.judging.sample_dimension import BATCH

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from torch_doctor.trace import DatasetBuilt, Event, Scope, Site, Trace


class Average(Struct, frozen=True):
    """An average over the means of batches, one of them, where they are added up, and the loader of the batches."""

    average: Averaged
    mean: LossCalled | Meaned
    added: Summed | None
    loader: LoaderBuilt


class BatchMeans:
    """The averages of one trace in which every batch has the same weight."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.loaders = trace.view(Loaders)

    def averages(self) -> Iterator[Average]:
        """Those of an evaluation whose last batch may be short, as the source shows it, the first of each mean."""
        seen = set()
        for average in self.trace.of(Averaged):
            added = self._added(average)
            if average.sums and added is None:
                continue
            mean = self._mean(average.means if added is None else added.means)
            batch = None if mean is None else batch_of(mean)
            if mean is None or batch is None or not self._per_batch(average, added, batch):
                continue
            loader = self._loader(average, batch)
            if not self._matters(average, batch):
                continue
            metric = (mean.site, batch.site)
            if metric not in seen and loader is not None and self.falls_short(loader) and self._evaluates(mean):
                seen.add(metric)
                yield Average(average, mean, added, loader)

    def _matters(self, average: Averaged, batch: Scope) -> bool:
        """Whether the average decides something, or is the result: in the run of a script, of no loop that trains."""
        if self.trace.begins_outside or self._training & {scope.loop for scope in average.scope.iterations()} - {
            batch.loop
        }:
            return bool(self._steering & self._history(average))
        return True

    @cached_property
    def _training(self) -> set[int]:
        """The loops in which something is trained, or may be, out of sight."""
        escaped = [event for event in self.trace.of(Escaped) if event.optimizers and not event.builds]
        updates = (*self.trace.of(Backward), *self.trace.of(Stepped), *escaped)
        return {scope.loop for event in updates for scope in event.scope.iterations()}

    @cached_property
    def _steering(self) -> set[int]:
        """The sums and averages that decide something."""
        return set[int]().union(*(event.sums for event in self.trace.of(Steered)))

    def _history(self, average: Averaged) -> set[int]:
        """The events of this average, each time that it is computed: also what adds up shares of it."""
        site = average.site
        found = {each.index for each in self.trace.of(Summed) if _encloses(each.site, site)}
        for each in self.trace.of(Averaged):
            if each.site == site:
                found |= {each.index, *each.sums}
        return found

    def falls_short(self, loader: LoaderBuilt) -> bool:
        """Whether the last of several batches has fewer rows than the others, as far as that can be known."""
        if loader.drop_last is not False or loader.batch in (0, 1) or loader.full is True or loader.batches == 1:
            return False
        dataset: DatasetBuilt | None = self.loaders.dataset(loader)
        if dataset is not None and dataset.iterable:
            return False
        if loader.rows is None:
            return not (self.trace.observed or loader.unseen)
        return loader.batch is not None and loader.rows > loader.batch and loader.rows % loader.batch != 0

    def _added(self, average: Averaged) -> Summed | None:
        """The last sum of means that is averaged."""
        sums = [event for event in self.trace.at(*average.sums) if isinstance(event, Summed)]
        return sums[-1] if sums and all(event.means for event in sums) else None

    def _mean(self, events: Iterable[int]) -> LossCalled | Meaned | None:
        """The last of the means, where none of them goes backward."""
        means = [event for event in self.trace.at(*sorted(events)) if isinstance(event, (LossCalled, Meaned))]
        return means[-1] if means and all(self._only_read(event) for event in means) else None

    def _only_read(self, mean: LossCalled | Meaned) -> bool:
        return not any(self.loaders.passes.goes_backward(forward) for forward in self._forwards(mean))

    def _per_batch(self, average: Averaged, added: Summed | None, batch: Scope) -> bool:
        """Whether there is one mean for each batch, and the divisor is the number of them."""
        inside = any(scope.loop == batch.loop for scope in average.scope.iterations())
        if added is None:
            return inside if average.length else not inside
        if inside or not (added.at_once or _loop_of(added) == batch.loop):
            return False
        if added.at_once or average.length:
            return average.length != 0
        by = [event for event in self.trace.at(*average.by) if isinstance(event, Summed)]
        return bool(by) and all(event.counts and _loop_of(event) == batch.loop for event in by)

    def _loader(self, average: Averaged, batch: Scope) -> LoaderBuilt | None:
        """The loader that alone gives the batches; where it is divided by a loader's length, that one."""
        taken = {event.loader for event in self.trace.of(BatchTaken) if event.scope is batch}
        if len(taken) != 1 or not taken <= self.loaders.built.keys():
            return None
        loader = self.loaders.built[taken.pop()]
        lists = {event.listed for event in self.trace.at(*average.sums) if isinstance(event, Summed)}
        return loader if average.length in {0, loader.loader, *lists} else None

    def _forwards(self, mean: LossCalled | Meaned) -> list[Forward]:
        value = mean.input if isinstance(mean, LossCalled) else mean.value
        return [event for event in self.trace.at(*value.forwards) if isinstance(event, Forward)]

    def _evaluates(self, mean: LossCalled | Meaned) -> bool:
        """Whether the means are of forwards that evaluate, in a pass that trains nothing."""
        passes, forwards = self.loaders.passes, self._forwards(mean)
        return bool(forwards) and all(
            (forward.grad is False or forward.training is False) and not passes.beside(forward) for forward in forwards
        )


def batch_of(event: Event) -> Scope | None:
    """The pass through a loop over batches that an event lies in.

    No other loop is around it within, but for one that takes a mean over the batch in each turn, such as that over several metrics.
    """
    around = event.scope.iterations()
    if isinstance(event, Meaned) and (event.hits or event.value.shape or ())[:1] == (BATCH,):
        while around and around[-1].loop_kind is not LoopKind.BATCHES:
            around = around[:-1]
    return around[-1] if around and around[-1].loop_kind is LoopKind.BATCHES else None


def inside(average: Averaged, batch: Scope) -> bool:
    """Whether the division lies in the loop over batches itself."""
    return any(scope.loop == batch.loop for scope in average.scope.iterations())


def loader_of(trace: Trace, batch: Scope) -> LoaderBuilt | None:
    """The loader that alone gives the batches of a pass."""
    taken = {event.loader for event in trace.of(BatchTaken) if event.scope is batch}
    return trace.view(Loaders).built.get(taken.pop()) if len(taken) == 1 else None


def divides_by_rows(trace: Trace, average: Averaged, batch: Scope, loader: LoaderBuilt) -> bool:
    """Whether the divisor is the length of what the loader reads, or adds up the sizes of its batches."""
    if average.length:
        return average.length == loader.dataset
    by = [event for event in trace.at(*sorted(average.by)) if isinstance(event, Summed)]
    passes = [batch_of(event) for event in by]
    return bool(by) and all(event.rows for event in by) and all(each and each.loop == batch.loop for each in passes)


def divides_by_batches(trace: Trace, average: Averaged, batch: Scope, loader: LoaderBuilt) -> bool:
    """Whether the divisor is the length of the loader, or counts its batches."""
    if average.length:
        return average.length == loader.loader
    by = [event for event in trace.at(*sorted(average.by)) if isinstance(event, Summed)]
    passes = [batch_of(event) for event in by]
    return bool(by) and all(event.counts for event in by) and all(each and each.loop == batch.loop for each in passes)


def _encloses(outer: Site, inner: Site) -> bool:
    begins = (outer.path, outer.cell) == (inner.path, inner.cell) and (outer.row, outer.column) <= (
        inner.row,
        inner.column,
    )
    return begins and (inner.end_row, inner.end_column) <= (outer.end_row, outer.end_column)


def _loop_of(event: Event) -> int:
    around = event.scope.iterations()
    return around[-1].loop if around else 0
