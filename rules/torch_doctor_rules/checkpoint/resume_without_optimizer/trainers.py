"""Who trains what a checkpoint holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace import (
    Escaped,
    Loaded,
    OptimizerBuilt,
    Saved,
    ScalerBuilt,
    ScalerUpdated,
    SchedulerBuilt,
    SchedulerStepped,
    StateTaken,
    Stepped,
)
from torch_doctor_rules.judging.family import Family

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Event, Site, Trace


RESUME = "resume"
"""How scripts call the option for the file from which training goes on."""


def trainer_of(trace: Trace, saved: Saved) -> OptimizerBuilt | None:
    """The optimizer with a memory that surely trains what is saved; none where the file is only read back to evaluate."""
    family = trace.view(Family)
    taken = {event.module for event in trace.of(StateTaken) if event.index in saved.states} | set(saved.modules)
    steps: dict[int, list[Stepped]] = {}
    for step in trace.of(Stepped):
        steps.setdefault(step.optimizer, []).append(step)
    loads = [*_loads(trace, saved, taken)]
    return next(
        (
            built
            for built in trace.of(OptimizerBuilt)
            if built.remembers is True
            and built.optimizer in steps
            and family.related(built.modules, taken)
            and (not loads or _goes_on(trace, loads, steps[built.optimizer]))
            and not _made_for_one_pass(built, saved)
        ),
        None,
    )


def all_kept(trace: Trace) -> bool:
    """Whether the files hold something of every model that is trained: else training cannot go on from them."""
    family = trace.view(Family)
    kept = {event.module for event in trace.of(StateTaken)} | {
        each for event in trace.of(Saved) for each in event.modules
    }
    stepped = {step.optimizer for step in trace.of(Stepped)}
    trained = [built for built in trace.of(OptimizerBuilt) if built.optimizer in stepped and built.modules]
    return all(family.related(built.modules, kept) for built in trained)


def is_resumed(trace: Trace, saved: Saved) -> bool:
    """Whether the loop that saves goes on from its own file: it, or what the user names for resuming, is loaded before the loop."""
    if saved.buffer or not any(saved.scope.iterations()):
        return False
    family, read = trace.view(Family), ""
    taken = {event.module for event in trace.of(StateTaken) if event.index in saved.states} | set(saved.modules)
    wanted = {saved.file or RESUME, RESUME}
    for load in trace.of(Loaded):
        if load.index > saved.index or load.pretrained or load.buffer or not trace.together(load, saved):
            continue
        if not load.module:
            read = RESUME if load.told and RESUME in load.name.lower() else load.file
        elif read in wanted and trace.common_loop(load, saved) is None and family.related((load.module,), taken):
            return True
    return False


def _loads(trace: Trace, saved: Saved, taken: set[int]) -> Iterator[Event]:
    """Where the file may be read again: into the model, or into another that is like it."""
    family = trace.view(Family)
    loading = [event for event in trace.of(Loaded) if not event.pretrained]
    files = [event for event in loading if event.file and event.file == saved.file]
    yield from (event for event in loading if family.related((event.module,), taken))
    yield from files
    if loading:  # whoever gets the module after that may load it
        first = loading[0].index
        yield from (each for each in trace.of(Escaped) if each.index > first and family.related(each.modules, taken))


def _goes_on(trace: Trace, loads: list[Event], steps: list[Stepped]) -> bool:
    """Whether training may go on from what was loaded: a step comes later on the same path."""
    return any(load.index < step.index and trace.together(load, step) for load in loads for step in steps)


def left_out(trace: Trace, optimizer: OptimizerBuilt) -> Iterator[tuple[str, Site]]:
    """What has a state that no file gets, and where it is built: the optimizer, its scheduler, the scaler."""
    saves = trace.of(Saved)
    if all(saved.optimizer is False for saved in saves):
        yield "optimizer", optimizer.site
    if all(saved.scheduler is False for saved in saves):
        stepped = {event.scheduler for event in trace.of(SchedulerStepped)}
        stepped -= {event.scheduler for event in trace.of(SchedulerStepped) if event.explicit}
        for built in trace.of(SchedulerBuilt):
            if built.optimizer == optimizer.optimizer and built.scheduler in stepped and not built.resumes:
                yield "scheduler", built.site
                break
    if all(saved.scaler is False for saved in saves):
        updated = {event.scaler for event in trace.of(ScalerUpdated)}
        for scaler in trace.of(ScalerBuilt):
            if scaler.scaler in updated and scaler.enabled is True:
                yield "scaler", scaler.site
                break


def _made_for_one_pass(built: OptimizerBuilt, saved: Saved) -> bool:
    """Whether every pass of the loop that saves builds the optimizer anew: what it remembers ends with the pass."""
    made, kept = built.scope.iterations(), saved.scope.iterations()
    return bool(made and kept) and made[-1].loop == kept[-1].loop
