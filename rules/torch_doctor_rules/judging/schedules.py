"""Learning-rate schedules beside the steps of the optimizers that they are for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace import BranchKind, Escaped, GaveUp, LoopKind, SchedulerBuilt, Stepped

if TYPE_CHECKING:
    from torch_doctor.trace import SchedulerStepped, Scope, Trace

PLATEAU = "torch.optim.lr_scheduler.ReduceLROnPlateau"
"""It follows a metric and has no first value that could be skipped."""


class Schedules:
    """The schedulers of one trace: what their optimizers did before and after each of their steps."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self._built = {event.scheduler: event for event in trace.of(SchedulerBuilt)}
        self._stepping = {event.optimizer for event in trace.of(Stepped)}

    def built(self, moved: SchedulerStepped) -> SchedulerBuilt | None:
        """The construction of the scheduler that steps, where it is in sight."""
        return self._built.get(moved.scheduler)

    def next_step(self, moved: SchedulerStepped) -> Stepped | None:
        """The optimizer's next step, where both belong together and it never comes without the scheduler's.

        None for a scheduler that gets an epoch or a metric.
        """
        trace, built = self.trace, self.built(moved)
        if moved.explicit or (built is not None and built.class_name == PLATEAU):
            return None
        loops = _innermost(moved)
        chosen = {guard for guard in moved.guards if trace.branches[guard[0]].kind is not BranchKind.FLAG}
        return next(
            (
                step
                for step in trace.of(Stepped)
                if step.index > moved.index
                and self._concerns(moved, step)
                and trace.together(moved, step)
                and trace.same_iteration(moved, step)
                and trace.common_loop(moved, step) in loops
                and chosen <= step.guards
            ),
            None,
        )

    def steps_before(self, moved: SchedulerStepped) -> list[Stepped]:
        """The steps before the scheduler's that may be the optimizer's."""
        return [
            step
            for step in self.trace.of(Stepped)
            if step.index < moved.index
            and self.trace.together(step, moved)
            and (not step.optimizer or not moved.optimizer or step.optimizer == moved.optimizer)
        ]

    def may_have_begun(self, moved: SchedulerStepped) -> bool:
        """Whether the optimizer may have stepped before the scheduler does, in sight or out of it."""
        return bool(self.steps_before(moved)) or any(
            self.trace.together(event, moved) and self._may_step(event, moved)
            for event in self.trace.before(moved)
            if isinstance(event, (Escaped, GaveUp))
        )

    def _may_step(self, event: Escaped | GaveUp, moved: SchedulerStepped) -> bool:
        if isinstance(event, GaveUp):
            return True
        return moved.optimizer in event.optimizers if moved.optimizer else bool(event.optimizers)

    def _concerns(self, moved: SchedulerStepped, step: Stepped) -> bool:
        """Whether the step is surely of the scheduler's optimizer."""
        return step.optimizer == moved.optimizer if moved.optimizer else self._stepping == {step.optimizer}


def _innermost(moved: SchedulerStepped) -> list[Scope | None]:
    """The iterations in which the optimizer has to step too: the innermost, and where that loop is over a few, the next."""
    loops: list[Scope | None] = []
    for scope in reversed(moved.scope.iterations()):
        loops.append(scope)
        if scope.loop_kind is not LoopKind.COUNTED:
            return loops
    return loops or [None]
