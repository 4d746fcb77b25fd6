"""Windows of accumulation that the end of a pass through a loader cuts short."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from torch_doctor.trace import BatchTaken, BranchKind, Escaped, GaveUp, LoaderBuilt, LoopKind, Stepped
from torch_doctor_rules.judging.accumulation import Accumulation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Branch, Event, Scope, Site, Trace
    from torch_doctor_rules.judging.accumulation import Window


class Tail(NamedTuple):
    """A window whose last batches may find no step, and the test that decides when to step.

    `loader` gives the batches, `guard` is the test's place: the step's in a run, which sees no tests. `length` is how many
    batches make a window and `left` how many of the pass are left over; 0 where that is not known.
    """

    window: Window
    loader: LoaderBuilt
    guard: Site
    length: int = 0
    left: int = 0


class Tails:
    """The tails of one trace."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.accumulation = trace.view(Accumulation)
        self._loaders = {event.loader: event for event in trace.of(LoaderBuilt)}

    def planned(self) -> Iterator[Tail]:
        """As the source shows it: a test of the batch's number alone decides on every step, and a rest is not excluded."""
        for window in self.accumulation.windows():
            guard = self._guard(window.step, window.backward.guards)
            loader = self.loader(window.step)
            if guard is None or guard.every is None or loader is None:
                continue
            length, rest, _ = guard.every
            if loader.batches is None and loader.unseen:
                continue
            left = (loader.batches - rest) % length if length and loader.batches is not None else None
            if length != 1 and left != 0 and not self._stepped_elsewhere(window, guard.site):
                yield Tail(window, loader, guard.site, length, left or 0)

    def seen(self) -> Iterator[Tail]:
        """As a run shows it, for each window that was seen with another before it in one pass through a loader.

        How many batches are left over follows from the loader's length: runs end loops early.
        """
        before: dict[int, int] = {}
        for window in self.accumulation.windows():
            batch, loader = _batch(window.step), self.loader(window.step)
            if batch is None or loader is None or loader.batches is None:
                continue
            if batch.number - before.get(batch.loop, batch.number) == window.length:
                left = (loader.batches - batch.number) % window.length
                yield Tail(window, loader, window.step.site, window.length, left)
            before[batch.loop] = batch.number

    def loader(self, step: Stepped) -> LoaderBuilt | None:
        """The loader that gives the batches of the loop around a step, where that is the only one."""
        batch = _batch(step)
        taken = {event.loader for event in self.trace.of(BatchTaken) if event.scope is batch}
        return self._loaders.get(taken.pop()) if batch is not None and len(taken) == 1 else None

    def _guard(self, step: Stepped, known: frozenset[tuple[int, bool]]) -> Branch | None:
        """The test that lets the step happen, where nothing but settings tells besides."""
        guards = [(self.trace.branches[number], arm) for number, arm in step.guards - known]
        deciding = [(branch, arm) for branch, arm in guards if branch.kind is not BranchKind.FLAG]
        if len(deciding) != 1:
            return None
        branch, arm = deciding[0]
        return branch if branch.every is None or branch.every.holds is arm else None

    def _stepped_elsewhere(self, window: Window, guard: Site) -> bool:
        """Whether another step, or somebody out of sight, may apply what is left over."""
        gradients, trace = self.accumulation.gradients, self.trace
        modules = gradients.shared(window.backward, window.step)
        for step in trace.of(Stepped):
            own = self._guard(step, frozenset()) if _batch(step) is not None else None
            if gradients.may_concern(step, modules) and (own is None or own.site != guard or not _counts(own)):
                return True
        return any(  # who gets the model alone cannot step it
            isinstance(event, GaveUp)
            or (
                isinstance(event, Escaped)
                and any(gradients.may_own(optimizer, modules) for optimizer in event.optimizers)
            )
            for event in trace.after(window.step)
        )


def _counts(test: Branch) -> bool:
    """Whether a test says how far a counter has come; what it began with, only some passes of its loop tell."""
    return test.every is not None or test.kind is BranchKind.PERIODIC


def _batch(event: Event) -> Scope | None:
    """The pass through a loop over batches that an event lies in; None where there are several, or others within."""
    around = event.scope.iterations()
    batches = [scope for scope in around if scope.loop_kind is LoopKind.BATCHES]
    return batches[0] if len(batches) == 1 and batches[0] is around[-1] else None
