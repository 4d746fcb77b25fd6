"""Sums over the batches of one loader that are divided by the length of another one, or of what that reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from torch_doctor.rule import Step
from torch_doctor.trace import Averaged, LoopEntered, LoopKind, Multiplied, Summed
from torch_doctor_rules.evaluation.mean_divided_by_rows.divisors import COUNTED
from torch_doctor_rules.judging.batch_means import batch_of
from torch_doctor_rules.judging.loaders import Loaders
from torch_doctor_rules.judging.wording import message, named

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from torch_doctor.trace import LoaderBuilt, Scope, Site, Trace


class Mistaken(Struct, frozen=True):
    """A division of what was added up over the batches of one loader, and the loader whose length the divisor is.

    `by_batches`: that is how many batches it has; else how many rows.
    """

    average: Averaged
    added: Summed
    batch: Scope
    over: LoaderBuilt
    other: LoaderBuilt
    by_batches: bool
    names: tuple[str, str]

    def message(self) -> str:
        """What is wrong, in the user's words."""
        over, other = self.names
        return message(
            "`{sum}` is summed over `{over}`, but divided by the length of `{other}`",
            sum=named(self.added.holder, "the sum"),
            over=over,
            other=other if self.by_batches else f"{other}.dataset",
        )

    def trail(self) -> list[Step]:
        """The places that explain it."""
        return [
            Step(self.over.site, "the batches come from this loader"),
            Step(self.added.site, "they are added up here"),
            Step(self.other.site, COUNTED),
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
        events = list(self.trace.at(*sorted(average.sums)))
        sums = [event for event in events if isinstance(event, Summed)]
        if not average.length or not sums or len(sums) < len(events) or average.sums & self._multiplied:
            return None
        batches = [self._batch(event) for event in sums]
        batch = batches[-1]
        if batch is None or any(each is None or each.loop != batch.loop for each in batches):
            return None
        over = self.loaders.built.get(self._whole.get(batch.loop, 0))
        if over is None or _turns(batch.iterations()[:-1]) != _turns(average.scope.iterations()):
            return None
        other, by_batches = self._other(average.length, over)
        if other is None or not (by_batches or all(event.forwards or event.means for event in sums)):
            return None
        names = self.loaders.name(over), self.loaders.name(other)
        return Mistaken(average, sums[-1], batch, over, other, by_batches, names)

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


def _turns(scopes: Iterable[Scope]) -> list[tuple[LoopKind, int, int]]:
    return [(scope.loop_kind, scope.loop, scope.number) for scope in scopes]
