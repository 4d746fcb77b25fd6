"""Windows of accumulation that the end of a pass through a loader cuts short."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from torch_doctor.trace import Backward, BatchTaken, BranchKind, LoaderBuilt, LoopKind, Stepped
from torch_doctor_rules.judging.accumulation import Accumulation
from torch_doctor_rules.judging.cadence import Cadence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Branch, Event, Scope, Site, Trace
    from torch_doctor_rules.judging.accumulation import Window


class Tail(Struct, frozen=True):
    """A window whose last batches may find no step, and the test that decides when to step.

    `loader` gives the batches, None where callers out of sight hand it in. `guard` is the test's place: the step's in a run,
    which sees no tests. `length` is how many batches make a window and `left` how many of the pass are left over; 0 where
    that is not known.
    """

    window: Window
    loader: LoaderBuilt | None
    guard: Site
    length: int = 0
    left: int = 0


class Tails:
    """The tails of one trace."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.accumulation = trace.view(Accumulation)
        self.cadence = trace.view(Cadence)
        self._loaders = {event.loader: event for event in trace.of(LoaderBuilt)}

    def planned(self) -> Iterator[Tail]:
        """As the source shows it: a test of the batch's number alone decides on every step, and a rest is not excluded.

        Of a counter that goes on from epoch to epoch, a rest is known where the lengths of all loops are.
        """
        for window in self.accumulation.windows():
            guard = self._guard(window.step, window.backward.guards)
            loader = self.loader(window.step)
            if guard is None or (loader is None and not self._is_handed_in(window.step)):
                continue
            if guard.every is None:
                over = self.cadence.left(window.backward, window.step, loader)
                if over and not self._stepped_elsewhere(window, guard.site):
                    yield Tail(window, loader, guard.site, left=over)
                continue
            length, rest = guard.every.length, guard.every.rest
            batches = None if loader is None else loader.batches
            if loader is not None and batches is None and loader.unseen:
                continue
            left = (batches - rest) % length if length and batches is not None else None
            if length != 1 and left != 0 and not self._stepped_elsewhere(window, guard.site):
                yield Tail(window, loader, guard.site, length, left or 0)

    def seen(self) -> Iterator[Tail]:
        """As a run shows it, for each window that was seen with another before it in one pass through a loader.

        How many batches are left over follows from the loader's length: runs end loops early. A loader that is too short for two
        windows shows them in two passes, where the run made the first to its end.
        """
        before: dict[int, int] = {}
        first: dict[tuple[Site, int], Window] = {}
        for window in self.accumulation.windows():
            batch, loader = _batch(window.step), self.loader(window.step)
            if batch is None or loader is None or loader.batches is None:
                continue
            if batch.number - before.get(batch.loop, batch.number) == window.length:
                left = (loader.batches - batch.number) % window.length
                yield Tail(window, loader, window.step.site, window.length, left)
            earlier = first.setdefault((batch.site, loader.loader), window)
            if batch.loop not in before and earlier is not window:
                rest = self._left(earlier, batch, loader)
                if rest is not None:
                    yield Tail(earlier, loader, window.step.site, earlier.length, rest)
            before[batch.loop] = batch.number

    def _left(self, window: Window, batch: Scope, loader: LoaderBuilt) -> int | None:
        """How many batches the pass of `window`, its first, leaves over, where the next pass begins with the step of `batch`.

        None where that does not show it: the run cut the pass short, or two windows fit into it.
        """
        own = _batch(window.step)
        batches = loader.batches or 0
        if own is None or own.number != window.length or batches >= 2 * window.length:
            return None
        taken = [event.scope.number for event in self.trace.of(BatchTaken) if event.scope.loop == own.loop]
        if max(taken, default=0) != batches:
            return None
        left = batches - own.number
        gradients, modules = self.accumulation.gradients, window.step.modules
        for event in self.trace.events[window.step.index - self.trace.first + 1 :]:
            inside = any(scope.loop == own.loop for scope in event.scope.iterations())
            if isinstance(event, Stepped) and gradients.may_concern(event, modules):
                return 0
            if not inside and isinstance(event, Backward) and gradients.may_concern(event, modules):
                break
            if not inside and gradients.surely_clears(event, modules):
                return left
        return left if batch.number == own.number else 0

    def loader(self, step: Stepped) -> LoaderBuilt | None:
        """The loader that gives the batches of the loop around a step, where that is the only one."""
        batch = _batch(step)
        taken = {event.loader for event in self.trace.of(BatchTaken) if event.scope is batch}
        return self._loaders.get(taken.pop()) if batch is not None and len(taken) == 1 else None

    def _is_handed_in(self, step: Stepped) -> bool:
        """Whether callers out of sight give the one loader that the loop around a step goes through."""
        batch = _batch(step)
        taken = [event for event in self.trace.of(BatchTaken) if event.scope is batch]
        return len({event.loader for event in taken}) == 1 and all(event.handed_in for event in taken)

    def _guard(self, step: Stepped, known: frozenset[tuple[int, bool]]) -> Branch | None:
        """The test that lets the step happen, where nothing but settings tells besides."""
        guards = [(self.trace.branches[number], arm) for number, arm in step.guards - known]
        deciding = [(branch, arm) for branch, arm in guards if branch.kind is not BranchKind.FLAG]
        if len(deciding) != 1:
            return None
        branch, arm = deciding[0]
        return branch if branch.every is None or branch.every.holds is arm else None

    def _stepped_elsewhere(self, window: Window, guard: Site) -> bool:
        """Whether another step, or somebody out of sight, may apply what is left over.

        Within the loop that is any step behind another test, and after it what comes before more gradients are computed, or
        these are cleared.
        """
        gradients, trace = self.accumulation.gradients, self.trace
        modules = gradients.shared(window.backward, window.step)
        batch = _batch(window.step)
        for event in trace.events:
            if batch is not None and any(scope.loop == batch.loop for scope in event.scope.iterations()):
                if isinstance(event, Stepped):
                    own = self._guard(event, frozenset()) if _batch(event) is not None else None
                    alike = own is not None and own.site == guard and _counts(own)
                    stepped = gradients.may_concern(event, modules) and not alike
                else:
                    stepped = event.index > window.step.index and gradients.may_step(event, modules)
            elif event.index > window.step.index:
                stepped = gradients.may_step(event, modules)
                again = isinstance(event, Backward) and gradients.may_concern(event, modules)
                if not stepped and (again or gradients.surely_clears(event, modules)):
                    return False
            else:
                continue
            if stepped:
                return True
        return False


def _counts(test: Branch) -> bool:
    """Whether a test says how far a counter has come; what it began with, only some passes of its loop tell."""
    return test.every is not None or test.kind is BranchKind.PERIODIC


def _batch(event: Event) -> Scope | None:
    """The pass through a loop over batches that an event lies in; None where there are several, or others within."""
    around = event.scope.iterations()
    batches = [scope for scope in around if scope.loop_kind is LoopKind.BATCHES]
    return batches[0] if len(batches) == 1 and batches[0] is around[-1] else None
