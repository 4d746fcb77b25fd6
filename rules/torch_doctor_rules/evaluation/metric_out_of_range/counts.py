"""Counts of correct predictions that are divided by something that there is less of, so that the result exceeds 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from torch_doctor.rule import Step
from torch_doctor.trace import Averaged, Gathered, LoopEntered, Meaned, Multiplied, SettledCompared, Summed
from torch_doctor_rules.evaluation.metric_out_of_range.scored import COUNTED, SETTLED, step
from torch_doctor_rules.judging.batch_means import batch_of, divides_by_rows, inside
from torch_doctor_rules.judging.loaders import Loaders
from torch_doctor_rules.judging.other_lengths import OtherLengths
from torch_doctor_rules.judging.playing import interval
from torch_doctor_rules.judging.wording import message, named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Event, LoaderBuilt, Scope, Trace


_PERCENT = 100
GATHERED = "samples that fill up the last batches are gathered, too"


class Score(Struct, frozen=True):
    """A figure that cannot be right, what is said of it, what to do, and the places that explain it."""

    event: Event
    text: str
    help: str
    trail: tuple[Step, ...] = ()


class Counts:
    """Such figures in one trace, as the source shows it."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.loaders = trace.view(Loaders)
        self._whole = {event.loop: event.whole for event in trace.of(LoopEntered)}
        self._turns = {event.loop: event.turn for event in trace.of(LoopEntered)}
        self._averages = list(trace.of(Averaged))
        self._multiplied = frozenset[int]().union(*(event.sums for event in trace.of(Multiplied)))

    def found(self) -> Iterator[Score]:
        """The figures, each time that they are computed."""
        for found in self.trace.view(OtherLengths).found():
            if found.scores:
                help_ = "divide by the length of what is summed over"
                trail = (*found.trail(), *self._step(found.added))
                yield Score(found.average, found.text, help_, trail)
        for average in self._averages:
            yield from self._of(average)
        for mean in self.trace.of(Meaned):
            batch = batch_of(mean)
            if mean.by_rows and mean.hits is not None and (each := _each(mean.hits)) > 1 and batch is not None:
                yield _several(mean, "the comparison", each, step(self.trace, mean.value.forwards, COUNTED))
        for compared in self.trace.of(SettledCompared):
            text = f"the predictions are {compared.number} for every output of the model"
            trail = step(self.trace, compared.forwards, SETTLED)
            yield Score(compared, text, "compare probabilities with a threshold between 0 and 1", trail)

    def _step(self, event: Summed) -> tuple[Step, ...]:
        """The step that leads to the forward whose output is compared."""
        means = [mean for mean in self.trace.at(*sorted(event.means)) if isinstance(mean, Meaned)]
        return step(self.trace, event.forwards.union(*(mean.value.forwards for mean in means)), COUNTED)

    def _of(self, average: Averaged) -> Iterator[Score]:
        events = list(self.trace.at(*sorted(average.sums)))
        sums = [event for event in events if isinstance(event, Summed) and event.hits is not None]
        if not sums or len(sums) < len(events) or average.again or self._goes_on(average):
            return
        if (average.sums | average.by) & self._multiplied:
            return
        batches = [self._batch(event) for event in sums]
        batch = batches[-1]
        if batch is None or any(each is None or each.loop != batch.loop for each in batches):
            return
        loader = self.loaders.built.get(self._whole.get(batch.loop, 0)) or self._loader(batch)
        if loader is None or loader.batch in (0, 1) or loader.unseen:
            return
        name = named(sums[-1].holder, "the sum")
        trail = (Step(sums[-1].site, "correct predictions are added up here"), *self._step(sums[-1]))
        if (gathered := _filled_up(self.trace, average, sums, loader)) is not None:
            text = message("`{sum}` counts some samples twice if several processes evaluate", sum=name)
            trail = (*trail[:1], Step(gathered.site, GATHERED))
            yield Score(
                average, text, "gather the predictions in the way that drops repeated samples, as for metrics", trail
            )
        each = min(_each(event.hits or ()) for event in sums)
        if self._in_window(average, batch, loader) or (
            not inside(average, batch)
            and (average.length in self._lengths(loader, sums) or self._counts_batches(average, batch))
        ):
            text = message("`{sum}` counts correct predictions, but is divided by the number of batches", sum=name)
            yield Score(average, text, "divide by the number of samples", trail)
        elif each > 1 and divides_by_rows(self.trace, average, batch, loader):
            yield _several(average, name, each, trail)
        elif average.by_batch and self._outlives(sums, batch, average):
            text = message(
                "`{sum}` counts correct predictions of all batches, but is divided by the size of one", sum=name
            )
            yield Score(average, text, "divide by the number of samples in all batches", trail)

    def _batch(self, event: Summed) -> Scope | None:
        """The last pass over data whose results are added."""
        of = self.trace.at(*sorted(event.forwards)) if event.at_once else (event,)
        found = [batch_of(each) for each in of]
        alike = found and all(each and found[0] and each.loop == found[0].loop for each in found)
        return found[-1] if alike else None

    def _loader(self, batch: Scope) -> LoaderBuilt | None:
        taken = {number for number, events in self.loaders.taken.items() if any(each.scope is batch for each in events)}
        return self.loaders.built.get(taken.pop()) if len(taken) == 1 else None

    def _lengths(self, loader: LoaderBuilt, sums: list[Summed]) -> set[int]:
        """What is as long as there are batches: the loader, and a list of what they add."""
        return {loader.loader, *(event.listed for event in sums)} - {0}

    def _goes_on(self, average: Averaged) -> bool:
        """Whether the result is divided once more."""
        return any(each.again and each.index > average.index and each.sums >= average.sums for each in self._averages)

    def _counts_batches(self, average: Averaged, batch: Scope) -> bool:
        by = [event for event in self.trace.at(*average.by) if isinstance(event, Summed)]
        return bool(by) and all(event.counts and _loop_of(event) == batch.loop for event in by)

    def _in_window(self, average: Averaged, batch: Scope, loader: LoaderBuilt) -> bool:
        """Whether the divisor is the number of batches since the last time that it was divided.

        Of batches of 100 samples, that is percents.
        """
        if not inside(average, batch) or loader.batch is None or loader.batch == _PERCENT:
            return False
        tests = [(self.trace.branches[number].test, arm) for number, arm in average.guards]
        turn = self._turns.get(batch.loop, 0)
        return any(test is not None and average.number == interval(test, turn, arm=arm) > 1 for test, arm in tests)

    def _outlives(self, sums: list[Summed], batch: Scope, average: Averaged) -> bool:
        """Whether the sum has what several batches added, of which the last one gives the divisor."""
        if len({event.scope for event in sums}) == 1 or any(event.at_once for event in sums):
            return False
        return not inside(average, batch) or any(event.scope is not average.scope for event in sums)


def _several(event: Event, name: str, each: int, trail: tuple[Step, ...]) -> Score:
    text = f"`{{sum}}` counts {each} labels for each sample, but is divided by the number of samples"
    return Score(event, message(text, sum=name), "divide by the number of labels", trail)


def _each(hits: tuple[int | str | None, ...]) -> int:
    """How many labels each sample has at least, as far as that is known."""
    number = 1
    for size in hits[1:]:
        number *= size if isinstance(size, int) else 1
    return number


def _loop_of(event: Event) -> int:
    around = event.scope.iterations()
    return around[-1].loop if around else 0


def _filled_up(trace: Trace, average: Averaged, sums: list[Summed], loader: LoaderBuilt) -> Gathered | None:
    """Return what gathers the counts that are divided by the number of samples, repeated samples included.

    None if the number of samples shows that a single process would not even get an incomplete batch.
    """
    whole = loader.rows and loader.batch and loader.rows % loader.batch == 0
    if not loader.filled_up or average.length != loader.dataset or not average.length or whole:
        return None
    for event in trace.of(Gathered):
        of_total = bool(event.sums & average.sums)
        of_batch = any(event.forwards & each.forwards and trace.same_iteration(event, each) for each in sums)
        if event.index < average.index and (of_total or of_batch):
            return event
    return None
