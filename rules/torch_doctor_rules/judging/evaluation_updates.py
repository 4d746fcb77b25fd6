"""Updates in evaluation passes: the optimizer that trains the model elsewhere steps where the model is evaluated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from torch_doctor.trace import Backward, BatchTaken, Forward, LoopEntered, LoopKind, ModeSet, Stepped
from torch_doctor_rules.judging.forward_places import batch_of
from torch_doctor_rules.judging.gradients import Gradients
from torch_doctor_rules.judging.modes import Modes
from torch_doctor_rules.judging.passes import Passes

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from torch_doctor.rule import Finding
    from torch_doctor.trace import Scope, Trace


PICKS = frozenset("[(")
"""What an expression has that picks one of several: `loaders[phase]`, `loader_of(phase)`."""


class EvaluationUpdate(Struct, frozen=True):
    """A step in a pass whose `mode` is evaluation; `backward` gave it the pass's own gradients (None: there is none)."""

    mode: ModeSet
    forward: Forward
    backward: Backward | None
    step: Stepped
    training: Forward


class EvaluationUpdates:
    """The evaluation passes of one trace in which the evaluated model is updated."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self._passes = trace.view(Passes)
        self._modes = Modes(self._passes)
        self._gradients = trace.view(Gradients)
        self._taken = {id(event.scope): event.loader for event in trace.of(BatchTaken)}
        self._over = {event.loop: event.over for event in trace.of(LoopEntered)}

    def found(self) -> Iterator[EvaluationUpdate]:
        """Every such update, once for each forward."""
        if not any(mode.training is False for mode in self.trace.of(ModeSet)):
            return
        for forward in self.trace.of(Forward):
            batch = batch_of(forward)
            if batch is None or forward.training is True:
                continue
            mode = self._modes.holds_evaluation(forward)
            if mode is None or not self._is_meant(mode, forward):
                continue
            for step in self._steps(forward, batch):
                training = self._trained_elsewhere(forward, step)
                if training is not None:
                    backward = self._backward(forward, step)
                    if backward is not None or not self._filled(step, batch):
                        yield EvaluationUpdate(mode, forward, backward, step, training)
                    break

    def unexplained(self, findings: list[Finding]) -> list[Finding]:
        """The findings about switches of the mode that are made for no such pass."""
        switches = {update.mode.site for update in self.found()} if findings else set()
        return [finding for finding in findings if finding.site not in switches]

    def _is_meant(self, mode: ModeSet, forward: Forward) -> bool:
        """Whether the switch was made for this pass, for all of the module, and on the forward's path."""
        shared = self.trace.common_loop(mode, forward)
        parts = self._passes.family.within((forward.module,))
        return (
            self.trace.same_iteration(mode, forward)
            and (shared is None or shared is not batch_of(forward))
            and self.trace.implies(forward, mode)
            and not any(
                other.training is not False and other.module in parts
                for other in self.trace.between(mode, forward, ModeSet)
            )
            and not self._was_for_another(mode, forward, parts)
        )

    def _was_for_another(self, mode: ModeSet, forward: Forward, parts: Container[int]) -> bool:
        """Return whether a pass over other batches lies between, which evaluates: the mode was left on after it."""
        batch = batch_of(forward)
        return any(
            other.module in parts
            and (passed := batch_of(other)) is not None
            and (batch is None or passed.loop != batch.loop)
            and not self._passes.trains(other)
            for other in self.trace.between(mode, forward, Forward)
        )

    def _steps(self, forward: Forward, batch: Scope) -> Iterator[Stepped]:
        """The steps in the forward's iteration that surely move its module."""
        for step in self.trace.of(Stepped):
            if (
                step.index > forward.index
                and step.optimizer
                and not step.closure
                and batch in step.scope.iterations()
                and self.trace.together(step, forward)
                and not self.trace.by_mode(step)
                and self._gradients.moves(step, forward.module)
            ):
                yield step

    def _backward(self, forward: Forward, step: Stepped) -> Backward | None:
        """The `backward()` through the forward that comes before the step."""
        return next(
            (
                event
                for event in self._gradients.filling
                if forward.index < event.index < step.index
                and forward.index in event.loss.graph_forwards
                and self.trace.together(event, step)
                and not self.trace.asked(event)
            ),
            None,
        )

    def _filled(self, step: Stepped, batch: Scope) -> bool:
        """Whether anything in the iteration may give the step gradients."""
        return any(
            batch in event.scope.iterations()
            and self._gradients.on_path(event, step)
            and self._gradients.may_fill(event, step.modules)
            for event in self.trace.before(step)
        )

    def _trained_elsewhere(self, forward: Forward, step: Stepped) -> Forward | None:
        """A forward of the same module that is in training mode, on other data, and is trained by the same optimizer."""
        for other in self.trace.of(Forward):
            batch = batch_of(other)
            if (
                other.module != forward.module
                or batch is None
                or not self._passes.trains(other)
                or not self._has_other_data(forward, other)
            ):
                continue
            mode = self._modes.last(other)
            trains = mode.training is True if mode is not None else other.training is not False
            if trains and any(
                event.optimizer == step.optimizer and batch in event.scope.iterations()
                for event in self.trace.of(Stepped)
            ):
                return other
        return None

    def _has_other_data(self, forward: Forward, other: Forward) -> bool:
        """Whether both surely go over different data: other loaders, or the passes of a loop over a few phases."""
        here, there = batch_of(forward), batch_of(other)
        if here is None or there is None or here.loop == there.loop:
            return False
        loaders = [self._taken.get(id(scope), 0) for scope in (here, there)]
        names = [self._over.get(scope.loop, "") for scope in (here, there)]
        shared = self.trace.common_loop(forward, other)
        picked = names[0] == names[1] and not PICKS.isdisjoint(names[0])
        if picked and shared is not None and shared.loop_kind is LoopKind.COUNTED:
            return not self.trace.same_iteration(forward, other) and (
                not self.trace.observed or loaders[0] != loaders[1]
            )
        return loaders[0] != loaders[1] if all(loaders) else names[0] != names[1] and all(names)
