"""Sums over the batches of one loader that are divided by the length of something else, or by the index of the last batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from torch_doctor.rule import Step
from torch_doctor.trace import Averaged, LoopEntered, LoopKind, LossCalled, Meaned, Multiplied, Summed
from torch_doctor_rules.judging.batch_means import batch_of
from torch_doctor_rules.judging.loaders import Loaders
from torch_doctor_rules.judging.wording import message, named

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from torch_doctor.trace import Event, LoaderBuilt, Scope, Site, Trace

COUNTED = "the divisor is the length of this loader"
DRAWN = "this loader draws only a part of the samples"
INDEXED = "`enumerate` counts the batches of this loader from 0"
"""The notes of the last step of a trail, which begins with the loader whose batches are summed."""


class Mistaken(Struct, frozen=True):
    """A division of what was added up over the batches of one loader by a number that counts something else.

    `note` says what is at `place`; `by` is what to write instead, `{}` is the loader. `scores`: right answers were added up, and
    the number counts something of another set.
    """

    average: Averaged
    added: Summed
    batch: Scope
    over: LoaderBuilt
    text: str
    note: str
    place: Site
    by: str
    scores: bool = False

    def trail(self) -> list[Step]:
        """The places that explain it."""
        return [
            Step(self.over.site, "the batches come from this loader"),
            Step(self.added.site, "they are added up here"),
            Step(self.place, self.note),
        ]


class OtherLengths:
    """Such divisions in one trace, as the source shows it."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.loaders = trace.view(Loaders)
        self._whole = {event.loop: event.whole for event in trace.of(LoopEntered)}
        self._multiplied = frozenset[int]().union(*(event.sums for event in trace.of(Multiplied)))

    def found(self) -> Iterator[Mistaken]:
        """The first of each place where all of them are, each time that it is computed."""
        places: dict[Site, list[Mistaken | None]] = {}
        for average in self.trace.of(Averaged):
            places.setdefault(average.site, []).append(self._of(average))
        for found in places.values():
            first = found[0]
            if first is not None and None not in found:
                yield first

    def _of(self, average: Averaged) -> Mistaken | None:
        found = self._summed(average)
        if found is None:
            return None
        sums, batch, over = found
        if average.index_of:
            return self._by_index(average, sums, batch, over)
        other, by_batches = self._other(average.length, over)
        if not (by_batches or all(event.forwards or event.means for event in sums)):
            return None
        if other is None:
            return self._by_all(average, sums, batch, over)
        what = "length of" if by_batches else "number of samples in"
        text = message(
            f"`{{sum}}` is summed over `{{over}}`, but divided by the {what} `{{other}}`",
            sum=named(sums[-1].holder, "the sum"),
            over=self.loaders.name(over),
            other=self.loaders.name(other),
        )
        by = "len({})" if by_batches or sums[-1].means else "len({}.dataset)"
        return Mistaken(average, sums[-1], batch, over, text, COUNTED, other.site, by, all(map(self._scores, sums)))

    def _scores(self, event: Summed) -> bool:
        """Whether right answers are added, or their share of a batch."""
        means = [mean for mean in self.trace.at(*sorted(event.means)) if isinstance(mean, (Meaned, LossCalled))]
        shares = bool(means) and all(isinstance(mean, Meaned) and mean.hits is not None for mean in means)
        return event.hits is not None or shares

    def _summed(self, average: Averaged) -> tuple[list[Summed], Scope, LoaderBuilt] | None:
        """What is divided where that was added up in one pass over a loader, the last batch, and the loader."""
        events = list(self.trace.at(*sorted(average.sums)))
        sums = [event for event in events if isinstance(event, Summed)]
        divided = average.length or average.index_of
        if not divided or not sums or len(sums) < len(events) or average.sums & self._multiplied:
            return None
        batches = [self._batch(event) for event in sums]
        batch = batches[-1]
        if batch is None or any(each is None or each.loop != batch.loop for each in batches):
            return None
        over = self.loaders.built.get(self._whole.get(batch.loop, 0))
        if over is None or _turns(batch.iterations()[:-1]) != _turns(average.scope.iterations()):
            return None
        return sums, batch, over

    def _by_index(self, average: Averaged, sums: list[Summed], batch: Scope, over: LoaderBuilt) -> Mistaken | None:
        """The mistake where the divisor is the index of the last batch, and the mean of every batch is added."""
        passes = {event.scope for event in self.loaders.taken.get(over.loader, ()) if event.scope.loop == batch.loop}
        every = passes <= {self._batch(event) for event in sums} and all(e.guards <= average.guards for e in sums)
        if average.index_of != over.loader or not every or not all(event.means for event in sums):
            return None
        text = message(
            "`{sum}` is divided by the index of the last batch, which is one less than their number",
            sum=named(sums[-1].holder, "the sum"),
        )
        return Mistaken(average, sums[-1], batch, over, text, INDEXED, over.site, "len({})")

    def _by_all(self, average: Averaged, sums: list[Summed], batch: Scope, over: LoaderBuilt) -> Mistaken | None:
        """The mistake where the divisor counts all samples of which the loader draws a part."""
        sampled = bool(over.indexed) and average.length == over.dataset
        if not (self._shares_by_sampler(over) if sampled else self._shares_as_subset(over, average.length)):
            return None
        text = message(
            "`{sum}` is summed over a part of the samples, but divided by the number of all of them",
            sum=named(sums[-1].holder, "the sum"),
        )
        means = all(event.means for event in sums)
        by = "len({})" if means else "len({}.sampler)" if sampled else "len({}.dataset)"
        return Mistaken(average, sums[-1], batch, over, text, DRAWN, over.site, by)

    def _shares_by_sampler(self, over: LoaderBuilt) -> bool:
        """Whether another sampler draws samples at other indices of the same dataset."""
        return any(
            other.dataset == over.dataset and other.indexed not in (0, over.indexed) and _together(other, over)
            for other in self.loaders.built.values()
        )

    def _shares_as_subset(self, over: LoaderBuilt, whole: int) -> bool:
        """Whether the loader reads a subset of a dataset, and another subset of it has other samples."""
        first = self.loaders.dataset(over)
        if first is None or first.parts != (whole,) or first.several:
            return False
        return any(
            other.parts == (whole,)
            and other.dataset != first.dataset
            and not (other.several or (first.rows and first.rows == other.rows))
            and _together(first, other)
            for other in self.loaders.datasets.values()
        )

    def _batch(self, event: Summed) -> Scope | None:
        """The pass over data whose results are added, each batch once; None where something else is."""
        if event.counts or event.rows:
            return None
        if not event.at_once:
            return batch_of(event)
        found = {batch_of(mean) for mean in self.trace.at(*sorted(event.means))}
        last = max((scope for scope in found if scope), key=lambda scope: scope.number, default=None)
        return last if last and all(scope and scope.loop == last.loop for scope in found) else None

    def _other(self, length: int, over: LoaderBuilt) -> tuple[LoaderBuilt | None, bool]:
        """The loader of other rows whose length this is, or that of its data set."""
        known = self.loaders.built
        other = known.get(length)
        by_batches = other is not None
        if other is None:
            other = next((each for each in known.values() if each.dataset == length), None)
        if other is None or other is over or other.loader in over.beside:
            return None, by_batches
        first, second = self.loaders.dataset(over), self.loaders.dataset(other)
        if first is None or second is None or first.several or second.several:
            return None, by_batches
        if first.dataset in self._within(second.dataset) or second.dataset in self._within(first.dataset):
            return None, by_batches
        sizes = (over.batches, other.batches) if by_batches else (over.rows, other.rows)
        same = (first.rows and first.rows == second.rows) or (None not in sizes and sizes[0] == sizes[1])
        return None if same else other, by_batches

    def _within(self, dataset: int) -> set[int]:
        """A data set, and all that it takes its rows from."""
        found: set[int] = set()
        waiting = [dataset]
        while waiting:
            number = waiting.pop()
            if number not in found:
                found.add(number)
                waiting += self.loaders.parts(number)
        return found


def _together(first: Event, second: Event) -> bool:
    """Whether both belong to the same passes of all loops: of one fold, not of the next."""
    return first.scope.iterations() == second.scope.iterations()


def _turns(scopes: Iterable[Scope]) -> list[tuple[LoopKind, int, int]]:
    return [(scope.loop_kind, scope.loop, scope.number) for scope in scopes]
