"""Learning-rate schedules beside the steps of the optimizers that they are for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from torch_doctor.rule import same_place
from torch_doctor.trace import (
    BatchTaken,
    BranchKind,
    Count,
    Escaped,
    GaveUp,
    LoaderBuilt,
    LoopCounted,
    LoopEntered,
    LoopKind,
    ScheduleCounted,
    SchedulerBuilt,
    SchedulerStepped,
    Steered,
    Stepped,
)

if TYPE_CHECKING:
    from torch_doctor.trace import Event, Scope, Site, Trace, Tri

PLATEAU = "torch.optim.lr_scheduler.ReduceLROnPlateau"
"""It follows a metric and has no first value that could be skipped."""


class Moved(Struct, frozen=True):
    """A step of a scheduler beside the updates; `every`: it steps in the loop of the updates, and not in one around it.

    `length` and `falls` are those of its `ScheduleCounted`. `batches` is how many batches an epoch has, `loader` what they are
    taken from (0: out of sight), `shortened` how many of them a run makes (0: all), `window` how many of them an update takes
    (0: not known), and `passes` how often the loops of epochs are passed, as far as it is known. `stale`: the score that it is
    given is the same for all batches of an epoch.
    """

    step: SchedulerStepped
    built: SchedulerBuilt
    length: Count
    falls: float | None
    every: bool
    loader: int
    batches: int | None
    shortened: int
    window: int
    passes: list[Count]
    stale: Tri

    @property
    def updates(self) -> int | None:
        """How many updates an epoch has, as far as it is known."""
        return None if self.batches is None else -(-self.batches // max(self.window, 1))

    @property
    def taken(self) -> str:
        """What an update takes."""
        return f"{self.window} batches" if self.window > 1 else "batch"

    @property
    def counts_batches(self) -> bool:
        """Whether the schedule surely is a multiple of an epoch's batches."""
        return self.loader in self.length.batches or self.length.number in self._all_batches

    @property
    def counts_all(self) -> bool:
        """Whether the schedule surely counts the batches of all epochs, of which an update takes several."""
        times, passes = self.length.times, (each.factor for each in self.passes)
        product = bool(times) and self.loader in self.length.batches and times in passes
        return self.window > 1 and (product or self.length.number in self._all_batches)

    @property
    def counts_shortened(self) -> bool:
        """Whether the schedule is as long as all batches that are left in a run."""
        return bool(self.shortened) and self.length.number in [
            (each.number or 0) * self.shortened for each in self.passes
        ]

    @property
    def _all_batches(self) -> list[int]:
        return [each.number * self.batches for each in self.passes if each.number is not None and self.batches]


class Schedules:
    """The schedulers of one trace: what their optimizers did before and after each of their steps."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self._built = {event.scheduler: event for event in trace.of(SchedulerBuilt)}
        self._stepping = {event.optimizer for event in trace.of(Stepped)}

    def built(self, moved: SchedulerStepped) -> SchedulerBuilt | None:
        """The construction of the scheduler that steps, where it is in sight."""
        return self._built.get(moved.scheduler)

    def place(self, step: SchedulerStepped) -> Site:
        """Where a step is reported: a framework steps a scheduler as it is told where that is built."""
        built = self.built(step)
        return step.site if step.name or built is None else built.site

    def moved_at(self, site: Site) -> list[Moved | None]:
        """The steps that are reported at a place."""
        return [self.moved(step) for step in self.trace.of(SchedulerStepped) if same_place(self.place(step), site)]

    def moved(self, step: SchedulerStepped) -> Moved | None:
        """A step beside the updates; None where it is not known what steps, or where something else decides when it does."""
        trace, built = self.trace, self.built(step)
        counted = next((each for each in trace.of(ScheduleCounted) if each.scheduler == step.scheduler), None)
        outside = {scope.loop for scope in built.scope.iterations()} if built is not None else set()
        loops = [scope for scope in step.scope.iterations() if scope.loop not in outside]
        if built is None or not loops or (counted is None and built.class_name != PLATEAU):
            return None
        inner = loops[-1].loop
        updates = [event for event in trace.of(Stepped) if self._concerns(step, event) and _lies_in(event, inner)]
        beside = [event for event in updates if event.scope.iterations()[-1].loop == inner]
        asked = step.guards - built.guards
        kinds = {trace.branches[branch].kind for branch, _ in asked}
        chosen = BranchKind.PERIODIC in kinds or (not beside and BranchKind.FLAG in kinds)
        if chosen or not updates or (beside and not any(asked <= event.guards for event in beside)):
            return None
        update = loops[-1] if beside else updates[0].scope.iterations()[-1]
        own, taken = self._passes(update, step), self._taken(update.loop)
        known = update.loop_kind is not LoopKind.COUNTED and not self._counts_updates(update)
        if not known or not (taken or (own and beside)):
            return None
        loaders = [each for each in trace.of(LoaderBuilt) if each.loader == taken]
        if any(each.unseen for each in loaders):
            return None
        batches = [1 if each.full else each.batches for each in loaders]
        around = [self._passes(scope, step) for scope in loops if scope.loop != update.loop]
        return Moved(
            step,
            built,
            Count() if counted is None else counted.length,
            None if counted is None else counted.falls,
            every=bool(beside),
            loader=taken,
            batches=batches[0] if batches else own.number if own else None,
            shortened=own.number or 0 if own and trace.observed and own.number != next(iter(batches), None) else 0,
            window=self._window(step, inner),
            passes=[each for each in around if each is not None and not (own and own.equals(each))],
            stale=self._stale(step, inner) if built.class_name == PLATEAU else None,
        )

    def _passes(self, scope: Scope, step: SchedulerStepped) -> Count | None:
        """How often a loop is passed, by what its header counts."""
        if self.trace.observed:
            entered = (each for each in self.trace.of(LoopEntered) if each.loop == scope.loop)
            lengths = [Count(number=int(each.length), text=each.over) for each in entered if each.length]
            return next(iter(lengths), None)
        if any(outer.site == scope.site for outer in scope.iterations()[:-1]):
            return None  # a trainer runs both at one call, which counts the outer one
        found = [each for each in self.trace.of(LoopCounted) if each.index < step.index]
        found = [each for each in found if same_place(scope.site, each.site)]
        return found[-1].passes if found else None

    def _counts_updates(self, scope: Scope) -> bool:
        """Whether a library goes by updates in a loop: a schedule may be over in its first epoch, as the training may."""
        return any(each.loop == scope.loop and each.counts_updates for each in self.trace.of(LoopEntered))

    def _window(self, step: SchedulerStepped, loop: int) -> int:
        """How many passes of a loop an update takes: as many as the first one has."""
        if not self.trace.observed:
            return step.window
        updates = (event for event in self.trace.of(Stepped) if self._concerns(step, event))
        scopes = (event.scope.iterations()[-1:] for event in updates)
        return min((scope.number for (scope,) in filter(None, scopes) if scope.loop == loop), default=1)

    def _taken(self, loop: int) -> int:
        """The loader whose batches a loop takes; 0 where it is out of sight."""
        return next((event.loader for event in self.trace.of(BatchTaken) if _lies_in(event, loop)), 0)

    def _stale(self, step: SchedulerStepped, loop: int) -> Tri:
        """Whether the score of a step is the same in all passes of a loop."""
        trace = self.trace
        if trace.observed:
            beside = [event for event in trace.of(SchedulerStepped) if event.scheduler == step.scheduler]
            scores = [event.metric for event in beside if _lies_in(event, loop)]
            return len(set(scores)) == 1 if None not in scores and len(scores) > 1 else None
        steered = [event for event in trace.of(Steered) if event.scope is step.scope and event.site == step.site]
        sums = [event for each in steered for event in trace.at(*each.sums)]
        return (bool(sums) and not any(_lies_in(event, loop) for event in sums)) or None

    def next_step(self, moved: SchedulerStepped) -> Stepped | None:
        """The optimizer's next step, where both belong together and it never comes without the scheduler's.

        None for a scheduler that gets an epoch or a metric, or is built in this pass for where training stands.
        """
        trace, built = self.trace, self.built(moved)
        if moved.explicit or (built is not None and (built.class_name == PLATEAU or self.follows(built))):
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

    def follows(self, built: SchedulerBuilt) -> bool:
        """Whether a scheduler is built anew in each pass of a loop, and told each time where training stands."""
        same = (each for each in self.trace.of(SchedulerBuilt) if each.site == built.site and each.scope.iterations())
        return len({each.told for each in same}) > 1

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
        return not event.builds and (moved.optimizer in event.optimizers if moved.optimizer else bool(event.optimizers))

    def _concerns(self, moved: SchedulerStepped, step: Stepped) -> bool:
        """Whether the step is surely of the scheduler's optimizer."""
        return step.optimizer == moved.optimizer if moved.optimizer else self._stepping == {step.optimizer}


def _lies_in(event: Event, loop: int) -> bool:
    return any(scope.loop == loop for scope in event.scope.iterations())


def _innermost(moved: SchedulerStepped) -> list[Scope | None]:
    """The iterations in which the optimizer has to step too: the innermost, and where that loop is over a few, the next."""
    loops: list[Scope | None] = []
    for scope in reversed(moved.scope.iterations()):
        loops.append(scope)
        if scope.loop_kind is not LoopKind.COUNTED:
            return loops
    return loops or [None]
