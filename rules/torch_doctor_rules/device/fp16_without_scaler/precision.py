"""Training in float16: where it begins, which backward passes go through it, and whether their gradients are scaled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace import (
    AutocastEntered,
    Backward,
    BranchKind,
    Clipped,
    Escaped,
    Forward,
    GaveUp,
    Moved,
    OptimizerBuilt,
    Owned,
    ScalerBuilt,
    ScalerUpdated,
    Stepped,
    Unscaled,
)
from torch_doctor_rules.judging.family import Family

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Trace

HALF = "float16"


class Precision:
    """The float16 of one trace."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self._family = trace.view(Family)
        self._backwards = [each for each in trace.of(Backward) if each.through == "backward" and not each.inputs_only]

    @property
    def scaled(self) -> bool:
        """Whether something may scale the gradients: a scaler that is used, a framework, or what could not be followed.

        A scaler that is built and then forgotten scales nothing.
        """
        trace = self.trace
        if any(trace.of(kind) for kind in (ScalerUpdated, Unscaled, Owned, GaveUp)):
            return True
        unknown = any(each.scaled is None for each in self._backwards)
        if trace.of(ScalerBuilt) and (unknown or any(event.scalers for event in trace.of(Escaped))):
            return True
        if any(clip.manual for clip in trace.of(Clipped)):  # gradients that are divided by hand
            return True
        return any(step.scaled for step in trace.of(Stepped)) or any(each.scaled for each in trace.of(Backward))

    def unscaled(self) -> Iterator[tuple[AutocastEntered | Moved, Backward, Stepped]]:
        """Where training in float16 begins, with a backward pass through it and the step that applies its gradients."""
        all_begun: list[AutocastEntered | Moved] = [*self.trace.of(AutocastEntered), *self.trace.of(Moved)]
        if self.scaled or not any(each.dtype == HALF for each in all_begun):
            return
        for backward in self._backwards:
            step = self._applied(backward)
            if step is None:
                continue
            for forward in self._forwards(backward):
                begun: list[AutocastEntered | Moved] = [*self._autocasts(forward), *self._halved(forward)]
                for begin in begun:
                    if self.trace.implies(begin, backward) and self._implies(begin, step):
                        yield begin, backward, step

    def _autocasts(self, forward: Forward) -> Iterator[AutocastEntered]:
        """The float16 autocasts that the forward runs in, or that run in it."""
        for entered in self.trace.of(AutocastEntered):
            around = entered.index == forward.autocast
            on = entered.enabled is not False and not entered.asked
            if (around or entered.within == forward.module) and entered.dtype == HALF and on:
                yield entered

    def _halved(self, forward: Forward) -> Iterator[Moved]:
        """The conversion to float16 that holds for the whole module in the forward."""
        moves = [
            move
            for move in self.trace.of(Moved)
            if move.dtype and move.index < forward.index and self._family.related((move.module,), (forward.module,))
        ]
        if moves and moves[-1].dtype == HALF and forward.module in self._family.within((moves[-1].module,)):
            yield moves[-1]

    def _implies(self, begin: AutocastEntered | Moved, step: Stepped) -> bool:
        """Whether the step follows, if perhaps only after several batches."""
        kinds = {branch: self.trace.branches[branch].kind for branch, _ in step.guards}
        guards = {guard for guard in step.guards if kinds[guard[0]] is not BranchKind.PERIODIC}
        return guards <= begin.guards

    def _forwards(self, backward: Backward) -> Iterator[Forward]:
        """The forwards that trained modules made and that the gradients go through."""
        for forward in self.trace.at(*backward.loss.graph_forwards):
            if isinstance(forward, Forward) and forward.trainable is not False and forward.grad is not False:
                yield forward

    def _applied(self, backward: Backward) -> Stepped | None:
        """The plain step of one of torch's optimizers that applies these gradients as they are.

        A loss that is weighted, or divided for an accumulation, needs a scaler all the more; only a run does not show
        whether the gradients were divided, too.
        """
        if backward.scaled or backward.divided is None or (backward.divided and self.trace.observed):
            return None
        known = {built.optimizer: built for built in self.trace.of(OptimizerBuilt)}
        away = frozenset[int]().union(*(each.optimizers for each in self.trace.of(Escaped)))
        for step in self.trace.of(Stepped):
            built = known.get(step.optimizer)
            applies = step.index > backward.index and not backward.modules.isdisjoint(step.modules)
            if built is not None and not backward.scope.iterations() and built.scope in backward.scope.chain():
                continue  # the one step of a test or a demonstration
            replaced = any(
                self._family.related(event.modules, step.modules)
                for event in self.trace.between(backward, step, Escaped)
                if self.trace.together(event, step)
            )
            if replaced or not step.whole:
                continue  # what it applies may be scaled, or copies of the parameters in float32
            if applies and not step.manual and built is not None and step.optimizer not in away:
                return step if built.class_name.startswith("torch.optim.") or self.trace.observed else None
        return None
