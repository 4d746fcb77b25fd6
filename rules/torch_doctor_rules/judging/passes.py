"""Passes over data: which forwards train a model and which evaluate it."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from torch_doctor.rule import same_place
from torch_doctor.trace import (
    Backward,
    BatchTaken,
    Escaped,
    Event,
    Forward,
    Loaded,
    LoopIterated,
    LoopKind,
    LossCalled,
    ModuleBuilt,
    Source,
    Stepped,
    Trace,
)
from torch_doctor_rules.judging.averages import Averages
from torch_doctor_rules.judging.evidence import at
from torch_doctor_rules.judging.family import Family
from torch_doctor_rules.judging.forward_places import batch_of, block_of, call_of, entered, left_early, line_of, pass_of
from torch_doctor_rules.judging.gradients import fills
from torch_doctor_rules.judging.testing import in_a_test
from torch_doctor_rules.judging.unseen import unresolved_after

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from torch_doctor.trace import Scope, Site
    from torch_doctor_rules.judging.forward_places import Place


class Passes:
    """The forwards of one trace: those that surely evaluate, and what is known of the others."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.family = trace.view(Family)
        self._backward_of: dict[int, list[Backward]] = {}
        for event in trace.of(Backward):
            for index in event.forwards | event.loss.forwards:
                self._backward_of.setdefault(index, []).append(event)
        self._handed = frozenset[int]().union(
            *(event.outputs if event.returned else event.forwards for event in trace.of(Escaped)),
            *(self._given_to_methods(event) for event in trace.of(Forward) if event.named and event.given),
        )
        self._trained: dict[int, list[Backward]] = {}
        self._by_place: defaultdict[Place, list[Forward]] = defaultdict(list)
        self._backward_from: defaultdict[Place, list[Forward]] = defaultdict(list)
        for forward in trace.of(Forward):
            self._by_place[line_of(forward)].append(forward)
            if self.goes_backward(forward):
                self._backward_from[line_of(forward)].append(forward)
        self._trained_at = {each.site for each in trace.of(Forward) if self._backward_of.get(each.index)}

    def _given_to_methods(self, forward: Forward) -> frozenset[int]:
        """What models answered and was given to an attribute: a layer, or a method that trains, nobody knows."""
        given = self.trace.at(*forward.given)
        return frozenset(event.index for event in given if isinstance(event, Forward) and not event.named)

    def evaluations(self, *, samples: bool = False) -> Iterator[Forward]:
        """The forwards over data whose results surely never go backward, of modules that are trained or loaded.

        `samples`: also those over random numbers.
        """
        for forward in self.trace.of(Forward):
            if (
                not self.goes_backward(forward)
                and self._learns(forward)
                and (self._sees_data(forward) or (samples and self._samples(forward)))
                and not self._trains_elsewhere(forward)
                and not self._feeds_unseen_loss(forward)
                and not unresolved_after(self.trace, forward)
                and not self._cut_off(forward)
                and not (forward.named and self._may_be_more(forward))
                and not in_a_test(forward)
            ):
                yield forward

    def _may_be_more(self, forward: Forward) -> bool:
        """Whether a method of the model may count the batch, or train on it."""
        evaluates = forward.training is False or forward.grad is False or bool(self.training_of(forward))
        return not evaluates or bool(self.beside(forward))

    def goes_backward(self, forward: Forward) -> bool:
        """Whether the forward's result goes into a loss that goes backward, or escapes to code that may do so."""
        return bool(self._backward_of.get(forward.index)) or forward.index in self._handed

    def evaluating_at(self, site: Site) -> list[Forward]:
        """The forwards at a place whose results never go backward."""
        return [forward for forward in at(self.trace, site, Forward) if not self.goes_backward(forward)]

    def surely_trains(self, forward: Forward) -> bool:
        """Whether it trains, and no code out of sight decides whether its result goes backward."""
        told = (backward for backward in self._backward_of.get(forward.index, ()) if not self.trace.asked(backward))
        return self.trains(forward) and any(told)

    def trains(self, forward: Forward) -> bool:
        """Whether gradients reach parameters through this forward; where autograd is off, none can."""
        return (
            forward.trainable is not False
            and forward.grad is not False
            and any(
                fills(backward) and forward.index in (backward.loss.graph_forwards or backward.forwards)
                for backward in self._backward_of.get(forward.index, ())
            )
        )

    def training_of(self, forward: Forward) -> list[Backward]:
        """The backward passes that train the forward's module."""
        module = forward.module
        if module not in self._trained:
            same = {other.index for other in self.trace.of(Forward) if self.family.related((other.module,), (module,))}
            self._trained[module] = [
                backward
                for backward in self.trace.of(Backward)
                if not backward.inputs_only
                and (self.family.related(backward.modules, (module,)) or backward.loss.graph_forwards & same)
            ]
        return self._trained[module]

    def comes_after_training(self, forward: Forward) -> bool:
        """Whether the module has been trained or loaded when the forward comes."""
        learned: list[Event] = [*self.training_of(forward), *self._loading(forward)]
        return any(event.index < forward.index for event in learned)

    def beside(self, forward: Forward) -> list[Event]:
        """The backward passes and steps in the same iteration of the forward's pass."""
        batch = batch_of(forward)
        events: list[Event] = [*self.trace.of(Backward), *self.trace.of(Stepped)]
        return [
            event
            for event in events
            if batch is not None and batch in event.scope.iterations() and self.trace.together(event, forward)
        ]

    def repeated(self, forward: Forward) -> list[Forward]:
        """The forward in all iterations of its innermost loop."""
        loops = [scope.loop for scope in forward.scope.iterations()[-1:]]
        same = ((each, each.scope.iterations()[-1:]) for each in self._by_place[line_of(forward)])
        return [each for each, scopes in same if each is forward or [scope.loop for scope in scopes] == loops]

    def first_of_each(self, forwards: Iterable[Forward]) -> Iterator[Forward]:
        """The first of these forwards in every pass, every line once."""
        passes: set[object] = set()
        lines: set[Site] = set()
        for forward in forwards:
            batch = batch_of(forward)
            one_pass = call_of(forward) if batch is None else batch.loop
            if one_pass not in passes and forward.site not in lines:
                lines.add(forward.site)
                yield forward
            passes.add(one_pass)

    def first_of_block(self, forward: Forward, forwards: Iterable[Forward]) -> Forward:
        """The first of these forwards that lies in one block with this one, of the same model and not parted by training."""
        return next(earlier for earlier in forwards if earlier is forward or self._goes_on(earlier, forward))

    def _goes_on(self, earlier: Forward, forward: Forward) -> bool:
        """Whether one block, without training, could hold the passes of both."""
        return (
            earlier.module == forward.module
            and earlier.site.cell == forward.site.cell
            and block_of(earlier) is block_of(forward)
            and not any(earlier.index < event.index < forward.index for event in self.training_of(forward))
        )

    def _loading(self, forward: Forward) -> list[Loaded]:
        return [event for event in self.trace.of(Loaded) if self.family.related((event.module,), (forward.module,))]

    def _samples(self, forward: Forward) -> bool:
        """Whether it runs over random numbers, and no code out of sight gets the result, which may differentiate it."""
        escaped = (forward.index in event.outputs for event in self.trace.of(Escaped))
        return forward.inputs.source is Source.NOISE and not any(escaped)

    def _sees_data(self, forward: Forward) -> bool:
        """Whether it runs over data.

        Random input that comes from elsewhere stands for data when a model that does not train on random input has
        learned before and runs without a graph.
        """
        operation_at = forward.inputs.operation_at
        if forward.inputs.source is not Source.NOISE:
            return forward.inputs.source is not Source.UNKNOWN
        return (
            forward.grad is False
            and operation_at is not None
            and not forward.site.row <= operation_at.row <= forward.site.end_row
            and self.comes_after_training(forward)
            and all(
                other.inputs.source is not Source.NOISE
                for other in self.trace.of(Forward)
                if self.trains(other) and self.family.related((other.module,), (forward.module,))
            )
        )

    def _learns(self, forward: Forward) -> bool:
        averaged = self.trace.view(Averages).follows(forward.module) and not self.beside(forward)
        return bool(self.training_of(forward) or self._loading(forward) or averaged) or self._has_learned(forward)

    def _has_learned(self, forward: Forward) -> bool:
        """Whether callers out of sight bring a model that nothing trains here to a pass over batches: they trained it."""
        batch, own = batch_of(forward), entered(forward)
        return (
            self.trace.begins_outside
            and batch is not None
            and batch.loop_kind is LoopKind.BATCHES
            and forward.inputs.source is Source.LOADER
            and not any(self.trace.of(kind) for kind in (Backward, Stepped))
            and not any(each.module == forward.module and entered(each) is own for each in self.trace.of(ModuleBuilt))
        )

    def _trains_elsewhere(self, forward: Forward) -> bool:
        """Whether the same call trains in another iteration, and this iteration may just be cut short."""
        if self._is_pass_of_its_own(forward):
            return False
        for other in self._backward_from[line_of(forward)]:
            if other.index in self._handed:
                return True
            iteration = self.trace.common_loop(forward, other)
            for backward in self._backward_of.get(other.index, ()):
                if (
                    iteration is None
                    or left_early(forward, other)
                    or not self.trace.same_iteration(other, backward)
                    or self._within(iteration, forward, Backward)
                ):
                    return True
        return self._cut_short(forward)

    def _cut_short(self, forward: Forward) -> bool:
        """Whether nothing of this place went backward in the run, and by the source it does: every iteration was left early."""
        run = self.trace.run
        trained = any(same_place(forward.site, site) for site in self._trained_at)
        return run is not None and forward.site in run.foreseen and not trained

    def _is_pass_of_its_own(self, forward: Forward) -> bool:
        """Whether, of what both trains and evaluates, this pass went through all its batches, or those of another loader.

        A run may have cut short every batch of a pass that trains.
        """
        planned = forward.grad is False or forward.training is False or not self.trace.observed
        return (planned or self._has_own_loader(forward)) and self._in_pass_without_update(forward)

    def _has_own_loader(self, forward: Forward) -> bool:
        """Whether its batches come from a loader whose batches never train at its place."""
        same = self._backward_from[line_of(forward)]
        trained = {each.inputs.loader for each in same if self._backward_of.get(each.index)}
        return bool(forward.inputs.loader) and trained.isdisjoint((forward.inputs.loader, 0))

    def _in_pass_without_update(self, forward: Forward) -> bool:
        """Whether it runs in a loop over batches of data in which nothing ever goes backward or steps."""
        batch = batch_of(forward)
        if batch is None or batch.loop_kind is not LoopKind.BATCHES or forward.inputs.source is not Source.LOADER:
            return False
        updates: list[Event] = [*self.trace.of(Backward), *self.trace.of(Stepped), *self.trace.of(Escaped)]
        return not any(
            batch.loop in (scope.loop for scope in event.scope.iterations())
            and not (isinstance(event, Escaped) and not (event.optimizers or forward.index in event.forwards))
            for event in updates
        )

    def _feeds_unseen_loss(self, forward: Forward) -> bool:
        """Whether the loss of its iteration may use the forward unseen, through hooks or attributes."""
        beside = self.beside(forward)
        backwards = [event for event in beside if isinstance(event, Backward)]
        if not backwards:
            return bool(beside)
        return forward.training is not False and any(
            event.index > forward.index and (not event.whole or self.family.related(event.modules, (forward.module,)))
            for event in backwards
        )

    def _cut_off(self, forward: Forward) -> bool:
        """Whether the run broke off in the forward's iteration, before what would have followed."""
        kinds: tuple[type[Event], ...] = (Forward, LossCalled, Backward, Stepped, BatchTaken, LoopIterated)
        run, batch = self.trace.run, pass_of(self.trace, forward)
        if run is None or run.end.how in ("end", "exit"):
            return False
        return not any(
            event.index > forward.index and batch not in event.scope.iterations()
            for kind in kinds
            for event in self.trace.of(kind)
        )

    def _within(self, iteration: Scope, forward: Forward, kind: type[Backward]) -> bool:
        return any(
            iteration in event.scope.iterations() and self.trace.together(event, forward)
            for event in self.trace.of(kind)
        )
