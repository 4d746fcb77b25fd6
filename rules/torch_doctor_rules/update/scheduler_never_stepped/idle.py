"""Whether a scheduler is left alone while its optimizer steps: in the source, by all that may step it; in a run, by passes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace import (
    Escaped,
    GaveUp,
    LoopKind,
    OptimizerBuilt,
    Owned,
    SchedulerBuilt,
    SchedulerStepped,
    ScheduleShared,
    ScheduleWritten,
    ScopeKind,
    StepCalled,
    Stepped,
)
from torch_doctor_rules.judging.precedence import uncalled
from torch_doctor_rules.judging.testing import in_a_test

if TYPE_CHECKING:
    from torch_doctor.trace import Trace

EPOCHS_AND_BATCHES = 2
"""The loops around a step that a scheduler which is created in a loop has to outlive."""


def updates(trace: Trace, built: SchedulerBuilt) -> list[Stepped]:
    """The steps of its optimizer in loops that begin after a scheduler was constructed."""
    around = {scope.loop for scope in built.scope.iterations()}
    return [
        step
        for step in trace.of(Stepped)
        if step.optimizer == built.optimizer != 0
        and step.index > built.index
        and not step.several
        and trace.together(built, step)
        and any(scope.loop not in around for scope in step.scope.iterations())
    ]


def is_idle(trace: Trace, written: ScheduleWritten) -> bool:
    """Whether nothing in the source steps a scheduler or sets the rate of its optimizer, and nobody else can."""
    built = next((each for each in trace.of(SchedulerBuilt) if each.scheduler == written.scheduler), None)
    unseen = trace.of(GaveUp) or any(not (each.followed or each.framework == "accelerate") for each in trace.of(Owned))
    if built is None or written.sets_rates or unseen:
        return False
    siblings = [each for each in trace.of(SchedulerBuilt) if each.optimizer == built.optimizer]
    numbers = {each.scheduler for each in siblings}
    known = {each.site for kind in (SchedulerStepped, StepCalled, Stepped) for each in trace.of(kind)}
    return not (
        written.steps - known
        or any(each.optimizer in (built.optimizer, 0) for each in trace.of(SchedulerStepped))
        or any(each.scheduler in numbers for each in trace.of(ScheduleShared))
        or uncalled(trace, "step", numbers)
        or any(
            each.index > built.index and each.site != built.site and trace.together(built, each) for each in siblings
        )
        or any(
            built.optimizer in each.optimizers and (each.index > built.index or each.stays)
            for each in trace.of(Escaped)
        )
    )


def is_shown(trace: Trace, built: SchedulerBuilt, steps: list[Stepped]) -> bool:
    """Whether these steps of its optimizer show that a scheduler was forgotten: it outlives them, and nobody else has it."""
    around = built.scope.iterations()
    if trace.observed:
        before = {scope.loop for scope in around}
        passes = [next(each for each in step.scope.iterations() if each.loop not in before) for step in steps]
        return len({(each.loop, each.number) for each in passes}) > 1
    if not steps:
        return False
    first = steps[0]
    if in_a_test(first) or not _is_local(trace, built, first):
        return False
    loops = [scope for scope in first.scope.iterations()[len(around) :] if scope.loop_kind is not LoopKind.COUNTED]
    owners = [each for each in trace.of(OptimizerBuilt) if each.optimizer == built.optimizer]
    together = all(each.scope.iterations()[-1:] == around[-1:] for each in owners)
    return not around or (together and len(loops) >= EPOCHS_AND_BATCHES)


def _is_local(trace: Trace, built: SchedulerBuilt, step: Stepped) -> bool:
    """Whether all that happens between is in sight: in a function with unknown callers, both have to lie in one call of it."""
    if not trace.begins_outside:
        return True
    shared = [scope for scope in step.scope.chain() if scope in built.scope.chain() and scope.kind is ScopeKind.CALL]
    return bool(shared)
