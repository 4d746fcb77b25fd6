"""Optimizers and schedulers that every pass of a loop builds anew."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from torch_doctor.trace import (
    Backward,
    BranchKind,
    Escaped,
    GaveUp,
    Loaded,
    LoopKind,
    OptimizerBuilt,
    OptimizerRestored,
    SchedulerBuilt,
    SchedulerStepped,
    Stepped,
)
from torch_doctor_rules.judging.family import Family
from torch_doctor_rules.judging.schedules import Schedules

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Event, Scope, Trace


GOES_ON = frozenset(("torch.optim.lr_scheduler.ExponentialLR", "torch.optim.lr_scheduler.MultiplicativeLR"))
"""Schedulers that multiply the rate that they find: a new one goes on where the last one was."""


class Rebuilt(NamedTuple):
    """What is built again, its use in the same pass, and that pass."""

    built: OptimizerBuilt | SchedulerBuilt
    used: Stepped | SchedulerStepped
    scope: Scope


class Rebuilding:
    """What one trace builds again and again."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.family = trace.view(Family)

    def found(self) -> Iterator[Rebuilt]:
        """The optimizers, and the schedulers of optimizers that stay, which the next pass replaces by new ones."""
        for built in self.trace.of(OptimizerBuilt):
            found = self._optimizer(built)
            if found is not None:
                yield found
        for made in self.trace.of(SchedulerBuilt):
            found = self._scheduler(made)
            if found is not None:
                yield found

    def _optimizer(self, built: OptimizerBuilt) -> Rebuilt | None:
        if built.remembers is not True or not built.modules:
            return None
        for used in self.trace.of(Stepped):
            if used.optimizer == built.optimizer:
                scope = self._one_pass(built, used, inner=True)
                again = self._again(built, scope) if scope is not None else None
                if scope is not None and again is not None and not self._meant(built, again, scope):
                    return Rebuilt(built, used, scope)
                return None
        return None

    def _scheduler(self, made: SchedulerBuilt) -> Rebuilt | None:
        """A scheduler for one step: its optimizer is there before the loop."""
        owner = next((each for each in self.trace.of(OptimizerBuilt) if each.optimizer == made.optimizer), None)
        used = [event for event in self.trace.of(SchedulerStepped) if event.scheduler == made.scheduler]
        if owner is None or len(used) != 1 or used[0].explicit or self.trace.view(Schedules).follows(made):
            return None
        if made.class_name in GOES_ON:
            return None
        scope = self._one_pass(made, used[0], inner=False)
        again = scope is not None and self._again(made, scope) is not None
        return (
            Rebuilt(made, used[0], scope) if scope is not None and again and scope not in owner.scope.chain() else None
        )

    def _one_pass(self, built: Event, used: Event, *, inner: bool) -> Scope | None:
        """The epoch or batch in which both happen: nothing but the loop over its batches may lie between them."""
        around, deeper = built.scope.iterations(), used.scope.iterations()
        if not around or around[-1].loop_kind is LoopKind.COUNTED or around[-1] not in deeper:
            return None
        between = deeper[deeper.index(around[-1]) + 1 :]
        if between and not (inner and len(between) == 1 and between[0].loop_kind is LoopKind.BATCHES):
            return None
        chosen = {guard for guard in built.guards if self.trace.branches[guard[0]].kind is not BranchKind.FLAG}
        passes = [event for event in self.trace.of(Backward) if around[-1] in event.scope.iterations()]
        return around[-1] if passes and all(chosen <= event.guards for event in passes) else None

    def _again(self, built: Event, scope: Scope) -> OptimizerBuilt | SchedulerBuilt | None:
        """The same construction in the next pass."""
        for event in self.trace.of(type(built)):
            if (
                isinstance(event, (OptimizerBuilt, SchedulerBuilt))
                and event.site == built.site
                and event.index > built.index
            ):
                others = [other for other in event.scope.iterations() if other.loop == scope.loop]
                if others and others[0] is not scope:
                    return event
        return None

    def _meant(self, built: OptimizerBuilt, again: Event, scope: Scope) -> bool:
        """Whether a new beginning may be meant: other parameters, new weights, or the old state passed on."""
        if not isinstance(again, OptimizerBuilt) or built.modules != again.modules:
            return True
        modules = self.family.within(built.modules)
        for event in self.trace.events:
            if scope not in event.scope.chain():
                continue
            if isinstance(event, GaveUp):
                return True
            if isinstance(event, OptimizerRestored) and event.optimizer == built.optimizer:
                return True
            if isinstance(event, Loaded) and event.module in modules:
                return True
            if isinstance(event, Escaped) and (event.modules & modules or built.optimizer in event.optimizers):
                return True
        return False
