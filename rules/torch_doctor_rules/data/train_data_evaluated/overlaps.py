"""Rows that are trained on and evaluated too."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from torch_doctor.trace import (
    Backward,
    Escaped,
    Forward,
    GaveUp,
    LoaderBuilt,
    LoopEntered,
    LossCalled,
    RowsSplit,
    SamplesChosen,
    Summed,
    Trace,
)
from torch_doctor_rules.data.train_data_evaluated.kept import Kept
from torch_doctor_rules.judging.loaders import Loaders
from torch_doctor_rules.judging.scores import is_scored

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import DatasetBuilt, Site, Stretch


class Overlaps:
    """The loaders of one trace that evaluate what is trained on, where nothing else is evaluated."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.loaders = trace.view(Loaders)

    def found(self) -> Iterator[tuple[LoaderBuilt, Forward, Site, LoaderBuilt]]:
        """Every loader that evaluates, with where its rows are found to be those that another one trains on.

        Where a framework is told to evaluate rows, no other rows that are evaluated excuse it.
        """
        first = {
            (loader.site, loader.dataset): (loader, forward)
            for loader, forward in [*self.loaders.never_training()][::-1]
        }
        evaluated = sorted(
            first.values(), key=lambda pair: pair[0].index
        )  # others of these rows are the same, built anew
        pairs = [(loader, forward, self._source(loader, forward)) for loader, forward in evaluated]
        anything = all(source is not None for _, _, source in pairs) and not self.loaders.evaluates_unseen()
        validating = [source for _, forward, source in pairs if self.validates(forward)]
        for loader, forward, source in pairs:
            alone = anything or (self.validates(forward) and None not in validating and not self._validates_unseen())
            if source is not None and (alone or loader.scores):
                yield loader, forward, *source

    def shared(self) -> Iterator[tuple[LoaderBuilt, Backward, Forward, LoaderBuilt]]:
        """Every loader that trains and is all that is evaluated, while another one, of other rows, lies idle.

        What a trainer validates while it trains is judged for itself: other rows may be tested later.
        """
        others = [forward for _, forward in self.loaders.evaluating()]
        trained = {loader.loader for loader, _ in self.loaders.training()}
        for loader, backward, forward in self.loaders.shared():
            if trained - {loader.loader}:
                continue  # each trains something else, as weights and an architecture
            if others and (not self.validates(forward) or any(map(self.validates, others))):
                continue
            idle = next((other for other in self._left_over() if other.dataset not in (0, loader.dataset)), None)
            scores = self._scores(forward, backward) or (self.validates(forward) and is_scored(self.trace, forward))
            if idle is not None and backward.index < forward.index and scores:
                yield loader, backward, forward, idle

    def validates(self, forward: Forward) -> bool:
        """Whether a trainer of a library validates what it trains with these rows: they are meant to be held out."""
        return bool(self._validations & {scope.loop for scope in forward.scope.iterations()})

    def _validates_unseen(self) -> bool:
        """Whether a trainer also validates batches of a loader that nobody saw built."""
        unseen = (forward for forward in self.loaders.evaluations() if forward.inputs.loader not in self.loaders.built)
        return any(map(self.validates, unseen))

    @cached_property
    def _validations(self) -> set[int]:
        return {event.loop for event in self.trace.of(LoopEntered) if event.validates}

    def shown_by_run(self, trained: set[int], evaluated: set[int], built: list[DatasetBuilt]) -> bool:
        """Whether datasets surely have rows in common: no window that reaches back, and no whole beside one of its parts."""
        parts = {part for number in trained for part in self.loaders.parts(number)}
        return not evaluated & parts and not any(trained & set(each.shares) - set(each.mostly) for each in built)

    def _source(self, loader: LoaderBuilt, forward: Forward) -> tuple[Site, LoaderBuilt] | None:
        for other, backward in self.loaders.training():
            site, parted = self._overlap(other, loader)
            if site is None and self.loaders.last_trained(forward) == other.loader:  # folds have a model each
                site, parted = self._shared(other, loader), True
            if site is None or backward.index > forward.index or not self._remembers(other, forward):
                continue
            if (
                loader.scores
                or self._scores(forward, backward)
                or self._sums_up(loader, forward, backward)
                or ((parted or self.validates(forward)) and is_scored(self.trace, forward))
            ):
                return site, other
        return None

    def _remembers(self, trained: LoaderBuilt, forward: Forward) -> bool:
        """Whether what is evaluated has the weights that the loader's batches led to.

        A state that is loaded when all training is over is that of an earlier epoch; before that, the model begins again.
        """
        last, kept = self.loaders.trained_before(forward, trained.loader), self.trace.view(Kept)
        if last is None or not kept.is_same(last, forward) or self._chooses(trained, last):
            return False
        return not any(self.loaders.trains_after(index) for index in kept.renewed(last, forward))

    def _chooses(self, trained: LoaderBuilt, backward: Backward) -> bool:
        """Whether more than inputs and targets decide which samples are learned from: those evaluated may be left out.

        A run only tells that there is more in a batch.
        """
        dataset = self.loaders.dataset(trained)
        if dataset is not None and any(each.decides for each in self.loaders.whole(dataset)):
            return True
        taken = self.loaders.taken.get(trained.loader, ())
        more = any(len(each.dtypes) - each.describing > len(("input", "target")) for each in taken)
        return more or any(each.site == backward.site for each in self.trace.of(SamplesChosen))

    def _shared(self, trained: LoaderBuilt, evaluated: LoaderBuilt) -> Site | None:
        """The construction of the later of two datasets that read the same rows in a run; None where they do not."""
        first, second = self.loaders.dataset(trained), self.loaders.dataset(evaluated)
        if first is None or second is None:
            return None
        return second.site if first.dataset in second.shares else first.site if second.dataset in first.shares else None

    def _scores(self, forward: Forward, backward: Backward) -> bool:
        """Whether the evaluation computes a loss that training computes too."""
        losses = self.trace.of(LossCalled)
        trained = {event.loss for event in losses if event.input.forwards & backward.forwards}
        return any(event.loss in trained for event in losses if forward.index in event.input.forwards)

    def _sums_up(self, loader: LoaderBuilt, forward: Forward, backward: Backward) -> bool:
        """Whether the evaluation adds up what a model answers that is trained by a loss of its own.

        Whoever calls its loader a training one knows that the rows are those of training.
        """
        if any(event.input.forwards & backward.forwards for event in self.trace.of(LossCalled)):
            return False
        trained = {event.module for event in self.trace.at(*backward.forwards) if isinstance(event, Forward)}
        summed = (event for event in self.trace.of(Summed) if not (event.counts or event.rows))
        meant = "train" in self.loaders.name(loader).lower()
        return forward.module in trained and not meant and any(forward.index in event.forwards for event in summed)

    def _left_over(self) -> Iterator[LoaderBuilt]:
        """The loaders that nobody ever takes a batch of, as far as one can see, and nobody out of sight was given."""
        escaped = frozenset[int]().union(*(event.loaders for event in self.trace.of(Escaped)))
        if not self.trace.of(GaveUp):
            yield from (event for event in self.loaders.unused() if event.loader not in escaped)

    def _overlap(self, trained: LoaderBuilt, evaluated: LoaderBuilt) -> tuple[Site | None, bool]:
        """The construction by which a loader reads rows that another one reads too, surely; None where it does not.

        That is its dataset's construction, or its own where both read one dataset. A loader over the whole of what the
        other reads a part of is the one at fault. Beside it whether each has rows that the other has not: then they were
        to be parted, and it is no score of the training data that is wanted, whatever it is computed by.
        """
        first, second = self.loaders.dataset(trained), self.loaders.dataset(evaluated)
        known = first is not None and first.iterable is False
        if not known or first is None or second is None or not (_is_one(first) and _is_one(second)):
            return None, False
        same_rows = first.dataset == second.dataset or (first.rows != "" and first.rows == second.rows)
        if not (_reads_all(trained) and _reads_all(evaluated)):
            return (_drawn(trained, evaluated) if same_rows else None), trained.indexed > 0
        if same_rows:
            return evaluated.site if first.dataset == second.dataset else second.site, False
        if first.parts == second.parts and _meet(first.stretches, second.stretches):
            return second.site, True
        if second.dataset in self._read_by(first) and self._is_part_alone(first):
            return evaluated.site, True
        part = first.dataset in self._read_by(second)
        return (trained.site if part else None), part and self._is_part_alone(second)

    def _is_part_alone(self, dataset: DatasetBuilt) -> bool:
        """Whether it is the only part of a split that a loader reads: what was held out is evaluated with all the others."""
        observed = self.trace.run is not None and dataset.class_name.endswith("Subset")
        split = observed or any(each.site == dataset.site for each in self.trace.of(RowsSplit))
        others = (each for each in self.loaders.datasets.values() if each.parts == dataset.parts)
        return split and all(each.dataset == dataset.dataset for each in others)

    def _read_by(self, dataset: DatasetBuilt) -> set[int]:
        """The datasets that one takes its rows from."""
        found: set[int] = set()
        waiting = list(dataset.parts)
        while waiting:
            number = waiting.pop()
            if number not in found:
                found.add(number)
                waiting += self.loaders.parts(number)
        return found


def _reads_all(loader: LoaderBuilt) -> bool:
    """Whether a loader reads each sample of its dataset."""
    return loader.sampled is False or loader.draws_all


def _drawn(trained: LoaderBuilt, evaluated: LoaderBuilt) -> Site | None:
    """The construction of the loader by which samples of the same rows are drawn for training and for evaluation."""
    if _reads_all(trained):
        return trained.site if evaluated.indexed and trained.dataset == evaluated.dataset else None
    same = trained.indexed == evaluated.indexed or trained.loader in evaluated.meets
    same = same or evaluated.loader in trained.meets or _meet(trained.stretches, evaluated.stretches)
    return evaluated.site if trained.indexed and evaluated.indexed and same else None


def _is_one(dataset: DatasetBuilt) -> bool:
    """Whether it is one data set, whose rows stay the same: those that it draws are others each time."""
    return not dataset.several and not dataset.drawn


def _meet(trained: tuple[Stretch, ...], evaluated: tuple[Stretch, ...]) -> bool:
    """Whether what is trained on and what is evaluated surely have rows in common: one stretch each of the same.

    A stretch that both have was taken of something in their rows, before these were parted.
    """
    roots = [stretch.of for stretch in trained], [stretch.of for stretch in evaluated]
    if any(len(set(found)) < len(found) for found in roots):
        return False
    return any(first.meets(second) for first in trained for second in evaluated if first != second)
