"""Modes, training or evaluation, in which forwards run, and the calls that set them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace import (
    Backward,
    Escaped,
    Forward,
    GaveUp,
    LoopKind,
    ModelSpecified,
    ModeSet,
    OptimizerBuilt,
    ScopeKind,
    Source,
    Stepped,
)
from torch_doctor_rules.judging.forward_places import batch_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor_rules.judging.passes import Passes


class Modes:
    """The mode switches of one trace, beside its passes."""

    def __init__(self, passes: Passes) -> None:
        self.trace = passes.trace
        self.passes = passes

    def before(self, forward: Forward) -> list[ModeSet]:
        """The switches on the forward's path that concern its module or a part of it, the latest first."""
        inside = self.passes.family.within((forward.module,))
        return [
            mode
            for mode in reversed(self.trace.of(ModeSet))
            if mode.index < forward.index
            and self.trace.together(mode, forward)
            and (mode.module in inside or self._covers(mode, forward))
        ]

    def updates(self, forward: Forward) -> bool:
        """Whether it trains, and a step follows in the same epoch before a switch back: an attack only goes backward."""
        trace, around = self.trace, set(forward.scope.iterations()[:1])
        switched = [event.index for event in trace.of(ModeSet) if event.training and event.index > forward.index]
        steps = [step for step in trace.of(Stepped) if not step.whole or self._family_of(step, forward)]
        applied = any(
            forward.index < step.index < min(switched, default=step.index + 1)
            and around <= set(step.scope.iterations())
            for step in steps
        )
        return self.passes.surely_trains(forward) and (applied or not steps)

    def _family_of(self, step: Stepped, forward: Forward) -> bool:
        return self.passes.family.related(step.modules, (forward.module,))

    def _covers(self, mode: ModeSet, forward: Forward) -> bool:
        """Whether the switch sets the mode of all that runs in the forward."""
        return forward.module in self.passes.family.within((mode.module,))

    def last(self, forward: Forward) -> ModeSet | None:
        """The latest switch of all that runs in the forward."""
        return next((mode for mode in self.before(forward) if self._covers(mode, forward)), None)

    def is_never_set(self, forward: Forward) -> bool:
        """Whether a function trains the module that it is given, evaluates it afterwards, and nothing before sets its mode.

        An optimizer of its parameters shows that it is a module. What an object holds, its other methods may have set. Code that
        looks into the module, or says which class it has, may know what it does.
        """
        trace, family, module = self.trace, self.passes.family, (forward.module,)
        trained = any(each.index < forward.index for each in self.passes.training_of(forward))
        optimized = any(family.related(each.modules, module) for each in trace.of(OptimizerBuilt))
        escaped = any(each.index < forward.index and family.related(each.modules, module) for each in trace.of(Escaped))
        specified = any(family.related((each.module,), module) for each in trace.of(ModelSpecified))
        held = any(not each.name.isidentifier() for each in trace.of(Forward) if each.module == forward.module)
        batch, known = batch_of(forward), forward.training is not None or forward.grad is None or self.before(forward)
        over_data = batch is not None and batch.loop_kind is LoopKind.BATCHES and forward.inputs.source is Source.LOADER
        return trained and optimized and over_data and not (known or escaped or held or specified)

    def by_itself(self, forward: Forward) -> ModeSet | None:
        """The switch by which a forward that begins in evaluation mode puts its module back into training mode."""
        last = self.last(forward)
        if forward.training is not True or last is None or last.training is not False:
            return None
        inside = self.passes.family.within((forward.module,))
        later = (each.index for each in self.trace.of(Forward) if each.index > forward.index)
        end = next(later, self.trace.next)  # a switch behind another pass is somebody else's
        switches = (mode for mode in self.trace.of(ModeSet) if forward.index < mode.index < end and mode.training)
        return next((mode for mode in switches if mode.module in inside), None)

    def is_drawn(self, forward: Forward) -> bool:
        """Whether one input goes through several times: answers that differ by chance are wanted."""
        return any(each.again for each in self.passes.repeated(forward))

    def in_training_step(self, forward: Forward) -> bool:
        """Whether the forward belongs to a training step, and is no pass of its own.

        A full-batch loop trains and validates in one iteration: there, what comes after the update on other data, or
        without a graph, is the validation. An agent that acts belongs to its training also before it has seen enough to
        learn from.
        """
        return any(self._in_step(each) for each in self.passes.repeated(forward))

    def _in_step(self, forward: Forward) -> bool:
        beside = self.passes.beside(forward)
        if not beside:
            return False
        in_full = (
            forward.inputs.source is Source.DATA and forward.scope.iterations()[-1].loop_kind is not LoopKind.BATCHES
        )
        return not (in_full and forward.index > max(event.index for event in beside) and self._validates(forward))

    def holds_evaluation(self, forward: Forward) -> ModeSet | None:
        """The switch of the whole module to evaluation that surely still holds when the forward runs."""
        switches = self.before(forward)
        mode = next((mode for mode in switches if mode.whole or self._covers(mode, forward)), None)
        part = self._part_behind(mode, forward)
        if part is not None and self._covers_what_cares(part, forward):
            mode = part
        elif mode is None or not mode.whole or not self._covers(mode, forward):
            return None
        if mode.training is not False:
            return None
        lost = (
            isinstance(event, GaveUp)
            or (isinstance(event, Escaped) and self.passes.family.related(event.modules, (forward.module,)))
            for event in self.trace.between(mode, forward, Escaped, GaveUp)
            if self.trace.together(event, forward) and self.trace.together(event, mode)
        )
        return None if any(lost) or self._part_trains(mode, forward) else mode

    def _part_trains(self, mode: ModeSet, forward: Forward) -> bool:
        """Whether a part is put into training mode again between the two: which parts train is chosen one by one."""
        return any(
            event.training is True and not event.whole and self.trace.together(event, forward)
            for event in self.trace.between(mode, forward, ModeSet)
        )

    def _validates(self, forward: Forward) -> bool:
        """Whether it runs without a graph, or on data that its iteration does not train on."""
        trained_on = {
            other.inputs.name
            for other in self.trace.of(Forward)
            if self.passes.trains(other) and self.trace.same_iteration(other, forward)
        }
        return forward.grad is False or bool(forward.inputs.name and forward.inputs.name not in trained_on)

    def trained_before(self, mode: ModeSet, forward: Forward) -> bool:
        """Whether the same forward trained in training mode in an earlier iteration, before the switch."""
        return any(
            earlier.site == forward.site
            and earlier.module == forward.module
            and earlier.index < mode.index
            and earlier.training is True
            and not self.trace.same_iteration(earlier, forward)
            and self.passes.trains(earlier)
            for earlier in self.trace.of(Forward)
        )

    def left_by_evaluation(self, mode: ModeSet, forward: Forward) -> bool:
        """Whether a function that is over made the switch for an evaluation of its own, of the model that is trained whole.

        Whoever trains in evaluation mode on purpose switches it for the training. A line that switches other models to
        training mode does what it is told.
        """
        calls = [scope for scope in mode.scope.chain() if scope.kind is ScopeKind.CALL]
        if not calls or calls[-1] in forward.scope.chain() or not self._is_trained_whole(forward):
            return False
        switches = any(other.site == mode.site and other.training for other in self.trace.of(ModeSet))
        return not switches and any(
            mode.index < evaluation.index < forward.index
            and calls[-1] in evaluation.scope.chain()
            and evaluation.module == forward.module
            and evaluation.grad is False
            and not self.passes.goes_backward(evaluation)
            for evaluation in self.trace.of(Forward)
        )

    def goes_on(self, mode: ModeSet, forward: Forward) -> bool:
        """Whether training was or is under way around the switch, which was made for an evaluation."""
        return self.trained_before(mode, forward) or self.made_for_evaluation(mode, forward)

    def trained_another(self, mode: ModeSet, forward: Forward) -> bool:
        """Whether the line of a forward trained another model before the switch, in training mode: it sets no mode.

        The switch was made in a function that gave the model back, whatever was to become of it, and not for this training:
        there, all of the model is trained, and the same line switches no other model to training mode.
        """
        calls = [scope for scope in mode.scope.chain() if scope.kind is ScopeKind.CALL]
        handed_back = bool(calls) and calls[-1] not in forward.scope.chain()
        switches = any(other.site == mode.site and other.training for other in self.trace.of(ModeSet))
        if not handed_back or switches or not self.trace.implies(forward, mode) or not self._is_trained_whole(forward):
            return False
        return any(
            earlier.site == forward.site
            and earlier.index < mode.index
            and earlier.training is True
            and not self.passes.family.related((earlier.module,), (forward.module,))
            and self.passes.surely_trains(earlier)
            for earlier in self.trace.of(Forward)
        )

    def _is_trained_whole(self, forward: Forward) -> bool:
        """Whether one optimizer steps all that gets gradients through a forward."""
        trained = [event for event in self.trace.of(Backward) if forward.index in event.loss.graph_forwards]
        return any(
            event.modules <= step.modules and self.trace.same_iteration(event, step)
            for event in trained
            for step in self.trace.of(Stepped)
        )

    def made_for_evaluation(self, mode: ModeSet, forward: Forward) -> bool:
        """Whether the switch was made in the forward's loop for an evaluation pass that comes before the forward.

        What trained in evaluation mode before it is not otherwise after it.
        """
        trained = any(
            earlier.site == forward.site and earlier.index < mode.index and earlier.training is False
            for earlier in self.trace.of(Forward)
        )
        return not trained and any(self._evaluations(mode, forward))

    def _part_behind(self, mode: ModeSet | None, forward: Forward) -> ModeSet | None:
        """The last switch of a part of the module, where that comes after `mode`."""
        inside = self.passes.family.within((forward.module,))
        parts = (
            each
            for each in reversed(self.trace.of(ModeSet))
            if (mode.index if mode is not None else 0) < each.index < forward.index
            and self.trace.together(each, forward)
            and not self._covers(each, forward)
            and (each.module in inside or forward.module in each.part_of)
        )
        return next(parts, None)

    def _covers_what_cares(self, part: ModeSet, forward: Forward) -> bool:
        """Whether a part that is switched for an evaluation is all of the model that cares about the mode."""
        evaluations = list(self._evaluations(part, forward))
        return any(each.training is False for each in evaluations) and self.goes_on(part, forward)

    def _evaluations(self, mode: ModeSet, forward: Forward) -> Iterator[Forward]:
        """The evaluation passes between a switch and a forward, all in one loop."""
        if self.trace.common_loop(mode, forward) is not None:
            for evaluation in self.trace.of(Forward):
                if (
                    mode.index < evaluation.index < forward.index
                    and not self._in_one_pass(evaluation, forward, mode)
                    and evaluation.module == forward.module
                    and evaluation.grad is False
                    and self.trace.together(evaluation, forward)
                    and not self.passes.goes_backward(evaluation)
                ):
                    yield evaluation

    def _in_one_pass(self, evaluation: Forward, forward: Forward, mode: ModeSet) -> bool:
        """Whether both forwards lie in a loop that the switch is not in: an attack on what is evaluated, say."""
        shared = self.trace.common_loop(forward, evaluation)
        return shared is not None and shared.loop not in {scope.loop for scope in mode.scope.iterations()}
