"""Data loaders: which of them train and which evaluate, by what happens to their batches and never by names."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from torch_doctor.trace import (
    Backward,
    BatchTaken,
    BranchKind,
    DatasetBuilt,
    Escaped,
    Forward,
    LoaderBuilt,
    LoopEntered,
    LoopKind,
    ModuleBuilt,
    Stepped,
    Trace,
)
from torch_doctor_rules.judging.evaluation_updates import EvaluationUpdates
from torch_doctor_rules.judging.gradients import can_work, fills
from torch_doctor_rules.judging.passes import Passes
from torch_doctor_rules.judging.testing import in_a_test

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from torch_doctor.trace import Event, Scope, Site

E = TypeVar("E")
_NAME = re.compile(r"[A-Za-z_][\w.]*(?:\[[^\[\]]*\])?(?![\w.(\[])")


class Loaders:
    """The loaders of one trace, with the datasets that they read and the passes that they feed.

    A loader trains when gradients of its batches are computed in a loop that also steps: attacks, saliency maps and the
    like compute gradients and train nothing.
    """

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.built = {event.loader: event for event in trace.of(LoaderBuilt)}
        self.datasets = {event.dataset: event for event in trace.of(DatasetBuilt)}
        self.taken: dict[int, list[BatchTaken]] = {}
        for event in trace.of(BatchTaken):
            self.taken.setdefault(event.loader, []).append(event)

    def whole(self, dataset: DatasetBuilt | None) -> Iterator[DatasetBuilt]:
        """A dataset, what it is a part of, and so on."""
        while dataset is not None:
            yield dataset
            dataset = self.datasets.get(dataset.parts[0]) if len(dataset.parts) == 1 else None

    @cached_property
    def passes(self) -> Passes:
        """The passes of the trace."""
        return self.trace.view(Passes)

    def training(self) -> Iterator[tuple[LoaderBuilt, Backward]]:
        """The loaders whose batches are trained on, each place once, with the first backward pass of a batch."""
        backwards = {number: found[0] for number, found in self._trained.items()}
        yield from self._each_place_once(backwards, set())

    def surely_trains(self, loader: int) -> bool:
        """Whether gradients are computed from its batches whatever code out of sight decides."""
        branches = self.trace.branches
        asked = [
            {guard for guard in backward.guards if branches[guard[0]].kind is BranchKind.ASKED}
            for backward in self._trained.get(loader, ())
        ]
        decided = set[tuple[int, bool]]().union(*asked)
        return not all(asked) or any((branch, not arm) in decided for branch, arm in decided)

    def trains(self, loader: int) -> bool:
        """Whether gradients are computed from batches of the loader."""
        return loader in self._trained

    def trained_before(self, event: Event, loader: int) -> Backward | None:
        """The last backward pass of a batch of the loader before an event; None where there is none."""
        return next((each for each in reversed(self._trained.get(loader, ())) if each.index < event.index), None)

    def trains_after(self, index: int) -> bool:
        """Whether gradients are computed from any loader's batches after an event."""
        return any(found[-1].index > index for found in self._trained.values())

    def last_trained(self, event: Event) -> int | None:
        """The loader whose batch was trained on last before an event; None where there is none."""
        before = ((each.index, number) for number, found in self._trained.items() for each in found)
        return max((pair for pair in before if pair[0] < event.index), default=(0, None))[1]

    def evaluating(self) -> Iterator[tuple[LoaderBuilt, Forward]]:
        """The loaders whose batches are only evaluated, each place once, with the first forward that does.

        What code out of sight got may be trained on there.
        """
        places = {self.built[number].site for number in self._escaped.union(self._trained) if number in self.built}
        yield from self._each_place_once(self._evaluated, places)

    def never_training(self) -> Iterator[tuple[LoaderBuilt, Forward]]:
        """The loaders whose batches are only evaluated, also those that are built where one that trains is.

        What code out of sight got may be trained on there.
        """
        for number, forward in self._evaluated.items():
            if number in self.built and number not in self._escaped.union(self._trained):
                yield self.built[number], forward

    def evaluates(self, loader: int) -> bool:
        """Whether batches of the loader are evaluated."""
        return loader in self._evaluated

    def shared(self) -> Iterator[tuple[LoaderBuilt, Backward, Forward]]:
        """The loaders whose batches are trained on and evaluated too, with the first of both."""
        for number, backwards in self._trained.items():
            if number in self.built and number in self._evaluated:
                yield self.built[number], backwards[0], self._evaluated[number]

    def unused(self) -> Iterator[LoaderBuilt]:
        """The loaders of which no batch is taken in sight."""
        yield from (event for number, event in self.built.items() if number not in self.taken)

    def parts(self, dataset: int) -> tuple[int, ...]:
        """The datasets that one takes its rows from."""
        return self.datasets[dataset].parts if dataset in self.datasets else ()

    def dataset(self, loader: LoaderBuilt) -> DatasetBuilt | None:
        """The dataset that a loader reads, where it is known."""
        return self.datasets.get(loader.dataset)

    def drawn(self, loader: LoaderBuilt) -> bool:
        """Whether the loader's rows are drawn when they are read, so that none of them is the last."""
        dataset = self.dataset(loader)
        return dataset is not None and dataset.drawn

    def name(self, loader: LoaderBuilt) -> str:
        """What the user calls the loader where it is used, in a loop if there is one: elsewhere an iterator is asked."""
        for event in sorted(self.taken.get(loader.loader, ()), key=_in_no_loop):
            names = _NAME.findall(event.name)
            if names:
                return str(names[0])
        return "DataLoader"

    def name_where_built(self, loader: LoaderBuilt) -> str:
        """Return what the user calls the loader in the line that builds it."""
        return loader.called or self.name(loader)

    def used(self, loader: LoaderBuilt, event: Event) -> Site:
        """Where the event's pass takes its batches of the loader."""
        around = event.scope.iterations()
        taken = [each for each in self.taken[loader.loader] if any(it in around for it in each.scope.iterations())]
        return taken[-1].site if taken else event.site

    def evaluations(self) -> Iterator[Forward]:
        """The first evaluation of every loader that is evaluated."""
        yield from self._evaluated.values()

    def evaluates_unseen(self) -> bool:
        """Whether the batches of a loader are evaluated too that nobody saw built: its rows may be any."""
        return any(number not in self.built for number in self._evaluated)

    @cached_property
    def _escaped(self) -> frozenset[int]:
        """The loaders that code out of sight got."""
        return frozenset[int]().union(*(event.loaders for event in self.trace.of(Escaped)))

    def _each_place_once(self, feeds: Mapping[int, E], places: set[Site]) -> Iterator[tuple[LoaderBuilt, E]]:
        """Loaders with what they feed, the first of each place; none of these places."""
        for number, event in feeds.items():
            loader = self.built.get(number)
            if loader is not None and loader.site not in places:
                places.add(loader.site)
                yield loader, event

    @cached_property
    def _trained(self) -> dict[int, list[Backward]]:
        found: dict[int, list[Backward]] = {}
        mistaken = {
            update.backward for update in self.trace.view(EvaluationUpdates).found()
        }  # TDR112: it was to evaluate
        for backward in self.trace.of(Backward):
            if (
                fills(backward)
                and can_work(backward)
                and backward not in mistaken
                and self._steps_beside(backward)
                and not in_a_test(backward)
            ):
                for loader in self._behind(backward):
                    found.setdefault(loader, []).append(backward)
        return found

    def _steps_beside(self, backward: Backward) -> bool:
        """Whether what gets the gradients is stepped in the same loop over batches, or may be, out of sight."""
        loop = next((scope.loop for scope in (_batch(backward), *reversed(backward.scope.iterations())) if scope), 0)
        steps = self._steps.get(loop, ())
        return any(not isinstance(event, Stepped) or self._may_step(event, backward) for event in steps)

    def _may_step(self, step: Stepped, backward: Backward) -> bool:
        """Whether a step may train; what is moved by hand while a model gets gradients is an input of it."""
        return not (step.manual and self._modules & backward.modules and not self._modules & step.modules)

    @cached_property
    def _steps(self) -> dict[int, list[Event]]:
        """What steps, or may step out of sight, by the runs of loops that it lies in."""
        escaped = [event for event in self.trace.of(Escaped) if event.optimizers or event.to.endswith(".step")]
        found: dict[int, list[Event]] = {}
        for event in (*self.trace.of(Stepped), *escaped):
            for scope in event.scope.iterations():
                found.setdefault(scope.loop, []).append(event)
        return found

    @cached_property
    def _modules(self) -> frozenset[int]:
        return frozenset(event.module for event in self.trace.of(ModuleBuilt))

    @cached_property
    def _evaluated(self) -> dict[int, Forward]:
        found: dict[int, Forward] = {}
        surely = [
            forward
            for forward in self.trace.of(Forward)
            if forward.grad is False
            and not self.passes.goes_backward(forward)
            and self.passes.training_of(forward)
            and not self.passes.beside(forward)
            and not in_a_test(forward)
        ]
        for forward in (*self.passes.evaluations(), *surely):
            loader = forward.inputs.loader
            if (
                loader
                and forward.used  # else it is called for its statistics, or what its hooks note
                and self._taken_beside(loader, forward)
                and not self._is_glance(loader, forward)
            ):
                found.setdefault(loader, forward)
        return found

    def _is_glance(self, loader: int, forward: Forward) -> bool:
        """Whether one batch is taken now and then, in a loop over the batches of another loader or over none: to look at.

        So it is where the loop over its own batches is left with the first.
        """
        around = forward.scope.iterations()
        own = {event.scope.iterations()[-1] for event in self.taken.get(loader, ()) if event.scope.iterations()}
        scope = next(scope for scope in reversed(around) if scope in own)
        others = {number for number, events in self.taken.items() if any(event.scope is scope for event in events)}
        others -= {loader, 0, *(self.built[loader].beside if loader in self.built else ())}
        return scope.loop_kind is not LoopKind.BATCHES or bool(others) or self._ends_with_first(loader, scope)

    def _ends_with_first(self, loader: int, scope: Scope) -> bool:
        """Whether a loop over batches, of which there are several as far as is known, never comes to the second."""
        loop = self._in_full.get(scope.loop, scope.loop)
        taken = [event for of in (self.taken.values() if loop != scope.loop else (self.taken[loader],)) for event in of]
        if len({it for event in taken for it in event.scope.iterations() if it.loop == loop}) > 1:
            return False
        built = self.built.get(loader)
        if not self.trace.observed:
            return True  # the static witness makes two passes where nothing keeps it from that
        return built is not None and (built.rows or 0) >= 2 * (built.batch or 0) > 0

    @cached_property
    def _in_full(self) -> dict[int, int]:
        """By a loop's number, the one that it had where all its passes were executed."""
        return {event.loop: event.before for event in self.trace.of(LoopEntered) if event.before}

    def _behind(self, backward: Backward) -> set[int]:
        """The loaders whose batches the loss was computed from, each taken in a pass that goes backward."""
        forwards = backward.loss.forwards | backward.forwards
        loaders = {event.inputs.loader for event in self.trace.at(*forwards) if isinstance(event, Forward)} - {0}
        if not loaders:
            batch = _batch(backward)
            loaders = {event.loader for taken in self.taken.values() for event in taken if event.scope is batch}
        return {loader for loader in loaders if self._taken_beside(loader, backward)}

    def _taken_beside(self, loader: int, event: Event) -> bool:
        """Whether the event's pass through a loop takes a batch of the loader itself."""
        return not self._passes_of.get(loader, frozenset()).isdisjoint(event.scope.iterations())

    @cached_property
    def _passes_of(self) -> dict[int, frozenset[Scope]]:
        """The innermost passes through loops in which batches of each loader are taken."""
        return {
            loader: frozenset(scope for event in events for scope in event.scope.iterations()[-1:])
            for loader, events in self.taken.items()
        }


def _batch(event: Event) -> Scope | None:
    """The innermost pass through batches that an event lies in."""
    batches = [scope for scope in event.scope.iterations() if scope.loop_kind is LoopKind.BATCHES]
    return batches[-1] if batches else None


def _in_no_loop(event: Event) -> bool:
    return not any(event.scope.iterations())
