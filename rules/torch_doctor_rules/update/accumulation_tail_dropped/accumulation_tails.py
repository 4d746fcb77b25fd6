"""Windows of accumulation that the end of a pass through a loader cuts short."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from msgspec import Struct

from torch_doctor.trace import BatchTaken, LoaderBuilt, LoopKind
from torch_doctor_rules.judging.cadence import Cadence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Event, Scope, Site, Trace
    from torch_doctor_rules.judging.cadence import Window


class Tail(Struct, frozen=True):
    """A window whose last batches may find no step, and the test that decides when to step.

    `loader` gives the batches, None where callers out of sight hand it in. `guard` is the test's place: the step's in a run,
    which sees no tests. `left` is how many batches of the pass are left over; 0 where that is not known.
    """

    window: Window
    loader: LoaderBuilt | None
    guard: Site
    left: int = 0


class Tails:
    """The tails of one trace."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.cadence = trace.view(Cadence)
        self._loaders = {event.loader: event for event in trace.of(LoaderBuilt)}

    def planned(self) -> Iterator[Tail]:
        """As the source shows it: one test of how far loops have come decides on every step, and leaves out the last batches."""
        for window in self.cadence.windows():
            tests = self.cadence.tests_of(window.step)
            loader = self._loader(window)
            if len(tests) == 1 and (loader is not None or self._is_handed_in(window)):
                batches = None if loader is None else loader.batches
                known = batches is not None or loader is None or not loader.unseen
                if known and self.cadence.leaves(window, batches):
                    yield Tail(window, loader, tests[0].site)

    def seen(self) -> Iterator[Tail]:
        """As a run shows it, for each window that was seen with another before it in one pass through a loader.

        How many batches are left over follows from the loader's length: runs end loops early. A loader that is too short for two
        windows shows them in two passes, where the run made the first to its end.
        """
        runs: dict[int, list[tuple[Window, Scope, LoaderBuilt]]] = {}
        for window in self.cadence.windows():
            batch, loader = _batch(window.step), self._loader(window)
            if batch is not None and loader is not None and loader.batches is not None:
                runs.setdefault(batch.loop, []).append((window, batch, loader))
        for (_, before, _), (window, batch, loader) in (two for run in runs.values() for two in pairwise(run)):
            if batch.number - before.number == window.length and loader.batches:
                yield Tail(window, loader, window.step.site, (loader.batches - batch.number) % window.length)
        for (window, batch, loader), (_, after, again) in pairwise(run[0] for run in runs.values()):
            taken = max(
                (event.scope.number for event in self.trace.of(BatchTaken) if event.scope.loop == batch.loop), default=0
            )
            short = batch.number == window.length and taken == loader.batches and taken < 2 * window.length
            if short and batch.site == after.site and loader is again:
                yield Tail(window, loader, window.step.site, self._left(window, batch, after))

    def _left(self, window: Window, batch: Scope, after: Scope) -> int:
        """How many passes a run of the loop leaves over, with the first steps in it and in the next run."""
        found = self.cadence.observed(window.step.modules)
        anew = found.runs()[batch.loop][-1].cleared is not None or after.number == batch.number
        return found.rests()[batch.loop] if anew else 0

    def _loader(self, window: Window) -> LoaderBuilt | None:
        """The loader that gives the batches of the loop around a step, where that is the only one."""
        taken = {event.loader for event in self._taken(window)}
        return self._loaders.get(taken.pop()) if len(taken) == 1 else None

    def _is_handed_in(self, window: Window) -> bool:
        """Whether callers out of sight give the one loader that the loop around a step goes through."""
        taken = self._taken(window)
        return len({event.loader for event in taken}) == 1 and all(event.handed_in for event in taken)

    def _taken(self, window: Window) -> list[BatchTaken]:
        batch = _batch(window.step)
        return [event for event in self.trace.of(BatchTaken) if event.scope is batch]


def _batch(event: Event) -> Scope | None:
    """The pass through a loop over batches that an event lies in; None where there are several, or others within."""
    around = event.scope.iterations()
    batches = [scope for scope in around if scope.loop_kind is LoopKind.BATCHES]
    return batches[0] if len(batches) == 1 and batches[0] is around[-1] else None
