"""Gradients that are computed and that no step applies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import same_place
from torch_doctor.trace import (
    Backward,
    BranchKind,
    Clipped,
    Escaped,
    GaveUp,
    GradientsRead,
    OptimizerBuilt,
    SchedulerStepped,
    Stepped,
    TargetKept,
    WeightsGiven,
    ZeroGrad,
)
from torch_doctor_rules.judging.beside import Beside
from torch_doctor_rules.judging.gradients import fills
from torch_doctor_rules.judging.precedence import uncalled
from torch_doctor_rules.judging.testing import in_a_test

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Trace
    from torch_doctor_rules.judging.gradients import Gradients


def cleared_only(gradients: Gradients) -> Iterator[tuple[ZeroGrad, Backward]]:
    """The gradients that an optimizer clears in every iteration, and that no step comes to use before."""
    trace = gradients.trace
    alike = {(backward.modules, backward.whole): backward for backward in reversed(gradients.filling)}
    for cleared in trace.of(ZeroGrad):
        by_module = gradients.family.within((cleared.target,)) & cleared.modules
        if not cleared.target or by_module or uncalled(trace, "step", {cleared.target}) or in_a_test(cleared):
            continue
        left = {kind: gradients.shared(cleared, backward) for kind, backward in alike.items()}
        left = {kind: waiting for kind, waiting in left.items() if waiting and not _are_stepped(gradients, waiting)}
        for backward in gradients.filling if left else ():
            waiting = left.get((backward.modules, backward.whole), frozenset())
            if (
                waiting
                and backward.scope.iterations()
                and trace.same_iteration(cleared, backward)
                and not (trace.begins_outside and trace.common_loop(cleared, backward) is None)  # the caller may step
                and trace.implies(backward, cleared)
                and not _may_be_kept(gradients, cleared.target, backward)
                and not _may_be_used(gradients, cleared, backward, waiting)
                and not are_read(gradients, backward, waiting)
            ):
                yield cleared, backward
                break


def replaced(gradients: Gradients) -> Iterator[tuple[OptimizerBuilt, SchedulerStepped, Backward]]:
    """The passes whose optimizer steps in the other arm of a setting: in this one, its scheduler steps in its place."""
    trace = gradients.trace
    built = {event.optimizer: event for event in trace.of(OptimizerBuilt)}
    for moved in trace.of(SchedulerStepped):
        optimizer = built.get(moved.optimizer)
        if optimizer is None or moved.explicit:
            continue
        for backward in gradients.filling:
            beside = trace.common_loop(backward, moved) is not None and trace.same_iteration(backward, moved)
            if not beside or not trace.together(backward, moved) or not _lasts(trace, moved, backward):
                continue
            waiting = gradients.family.within(optimizer.modules) & gradients.family.within(backward.modules)
            exchanged = any(
                step.optimizer == moved.optimizer
                and trace.common_loop(step, backward) is not None
                and trace.same_iteration(step, backward)
                and trace.together(step, backward)
                and not trace.together(step, moved)
                for step in trace.of(Stepped)
            )
            if (
                exchanged
                and waiting
                and not in_a_test(backward)
                and not are_read(gradients, backward, waiting)
                and not _may_be_kept(gradients, moved.optimizer, backward)
            ):
                after, _ = gradients.until_cleared(backward, waiting, moved)
                if not any(gradients.may_step(event, waiting) for event in after):
                    yield optimizer, moved, backward
                    break


def _lasts(trace: Trace, moved: SchedulerStepped, backward: Backward) -> bool:
    """Whether what lets a scheduler step after a pass was decided before their loop, for all of its iterations."""
    asked = moved.guards - backward.guards
    kinds = {trace.branches[branch].kind for branch, _ in asked}
    again = (each for each in trace.of(SchedulerStepped) if each.site == moved.site and each.scope is not moved.scope)
    return (
        bool(asked)
        and kinds <= {BranchKind.FLAG, BranchKind.TYPE, BranchKind.UNKNOWN}
        and any(asked <= e.guards for e in again)
    )


def _are_stepped(gradients: Gradients, modules: frozenset[int]) -> bool:
    """Whether some step may apply gradients of these modules."""
    return any(gradients.may_concern(step, modules) for step in gradients.trace.of(Stepped))


def _may_be_used(gradients: Gradients, cleared: ZeroGrad, backward: Backward, waiting: frozenset[int]) -> bool:
    """Whether somebody out of sight gets hold of these modules in the same loop."""
    trace, update = gradients.trace, gradients.trace.common_loop(cleared, backward)
    return any(
        gradients.may_have_touched(event, waiting)
        for event in (*trace.of(Escaped), *trace.of(GaveUp))
        if update is None or update in event.scope.iterations()
    )


def _may_be_kept(gradients: Gradients, optimizer: int, backward: Backward) -> bool:
    """Whether the optimizer escapes to who may step it: to another thread before the pass, or to anyone in the same phase."""
    trace = gradients.trace
    return any(
        optimizer in event.optimizers
        and not (event.builds or event.returned)
        and ((event.stays and event.index < backward.index) or trace.same_phase(event, backward))
        and gradients.on_path(event, backward)
        for event in trace.of(Escaped)
    )


def are_read(gradients: Gradients, backward: Backward, waiting: frozenset[int]) -> bool:
    """Whether the script wants to see what the pass computes: the gradients that wait, or those of what no optimizer has."""
    trace, family = gradients.trace, gradients.family
    changes = [*trace.of(Clipped), *trace.of(ZeroGrad)]
    owned = frozenset[int]().union(*(event.modules for event in trace.of(OptimizerBuilt)))
    free = family.within(backward.modules) - family.within(owned)
    return any(
        not read.asked
        and (read.hooked or read.index > backward.index)
        and trace.together(read, backward)
        and (not read.whole or not read.modules or family.related(read.modules, waiting | free))
        and not any(same_place(change.site, read.site) for change in changes)
        for read in trace.of(GradientsRead)
    )


def may_be_applied(
    gradients: Gradients, optimizer: OptimizerBuilt, backward: Backward, waiting: frozenset[int]
) -> bool:
    """Whether anyone may update these modules before their gradients are cleared, in any run of the pass's loop.

    Gradients of unknown modules that are cleared there tell of an optimizer that the witness does not know. Where the
    optimizer steps elsewhere, the pass is to train only where it clears the gradients through that optimizer.
    """
    trace = gradients.trace
    assigned = backward.through == "assigned" and not backward.forwards  # nobody knows what: zeros, perhaps
    if assigned or waiting <= behind_targets(gradients, backward):
        return True
    if _may_be_kept(gradients, optimizer.optimizer, backward):
        return True
    beside = trace.view(Beside)
    here = beside.in_loop(backward, ZeroGrad)
    if any(not event.whole and not event.target for event in here):
        return True

    def steps(step: Stepped) -> bool:
        return step.optimizer == optimizer.optimizer or gradients.may_step(step, waiting)

    if not any(event.target == optimizer.optimizer for event in here) and any(map(steps, trace.of(Stepped))):
        return True
    if any(trace.same_iteration(step, backward) and steps(step) for step in beside.sharing(backward, Stepped)):
        return True  # in a wrong order, perhaps: TDR102 and TDR103
    cleared = is_cleared(gradients, backward, waiting)
    return any(
        gradients.may_step(event, waiting)
        and (isinstance(event, Stepped) or not cleared or trace.same_phase(event, each))
        for each in beside.in_loop(backward, Backward)
        if fills(each)
        for event in gradients.until_cleared(each, waiting)[0]
    )


def behind_targets(gradients: Gradients, backward: Backward) -> frozenset[int]:
    """The modules behind targets that keep their graph, and those whose weights the loop sets: no pass is to train them."""
    trace = gradients.trace
    kept = (event for event in trace.of(TargetKept) if event.kept and event.backward_at == backward.site)
    given = (event for event in trace.of(WeightsGiven) if not event.anew and trace.common_loop(event, backward))
    found = (*(event.modules - event.learners for event in kept), *(event.modules for event in given))
    return gradients.family.within(frozenset[int]().union(*found))


def is_cleared(gradients: Gradients, backward: Backward, waiting: frozenset[int]) -> bool:
    """Whether a pass of the loop clears them before callers out of sight get their hands on the optimizer."""
    return any(
        gradients.until_cleared(each, waiting)[1]
        for each in gradients.trace.view(Beside).in_loop(backward, Backward)
        if fills(each)
    )
