"""The cadence of updates: how many passes each step applies, how many are cleared unread, and which passes step."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from torch_doctor.trace import (
    Backward,
    Clipped,
    CounterChanged,
    Escaped,
    GaveUp,
    GradientsRead,
    LoopEntered,
    LossDivided,
    OptimizerBuilt,
    Stepped,
    ZeroGrad,
)
from torch_doctor_rules.judging.gradients import Gradients, fills
from torch_doctor_rules.judging.ledgers import WINDOWS, Ledger, accumulates, again, cleared, inverted, ledger
from torch_doctor_rules.judging.playing import (
    CONSTANT,
    STEPS,
    Lengths,
    Play,
    Played,
    Unplayable,
    formulas_in,
    largest_in,
    open_in,
    places_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from torch_doctor.trace import Branch, Event, LoaderBuilt, Site, Trace

EPOCHS: Final = 3
"""Runs of the loop that are played."""
SETTINGS: Final = (3, 4)
"""What a setting is in a play, where its default is not known."""
INVERTED, NEVER, CLEARED, AGAIN, DIVIDED = "inverted", "never", "cleared", "again", "divided"
SEEN: Final = 6
"""Passes without a step in which a run shows that an optimizer never steps."""


class Off(Struct, frozen=True):
    """An optimizer that is out of step with its windows: `how`, and `place`, the test or the clearing that is wrong."""

    how: str
    place: Site
    backward: Backward
    step: Stepped | None = None
    cleared: ZeroGrad | None = None


class Cadence:
    """The cadence of every optimizer of one trace."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.gradients = trace.view(Gradients)
        self._off: list[Off] | None = None

    def off(self) -> list[Off]:
        """Return every optimizer that surely steps on the wrong passes, or whose window is cleared before its step."""
        if self._off is None:
            found = self._seen() if self.trace.observed else self._planned()
            self._off = [each for each in found if each is not None]
        return self._off

    # --- as the source shows it ---

    def _planned(self) -> Iterator[Off | None]:
        done = set()
        counted = any(self._tests_of(event) for event in self.trace.of(ZeroGrad))
        for step in reversed(self.trace.of(Stepped)):
            backward = self._filled_by(step)
            if backward is None or (key := (step.site, backward.site)) in done:
                continue
            done.add(key)
            if counted or self._tests_of(step) or backward.scope.iterations()[-1].site not in places_of(step):
                yield self._judged(backward, step)

    def _filled_by(self, step: Stepped) -> Backward | None:
        """The last backward pass before a step that surely fills what it applies, in the same outermost loop."""
        around = step.scope.iterations()
        for backward in reversed(self.gradients.filling):
            own = backward.scope.iterations()
            inside = own and around and own[0].loop == around[0].loop and backward.index < step.index
            if inside and self.gradients.shared(step, backward):
                return backward
        return None

    def _judged(self, backward: Backward, step: Stepped) -> Off | None:
        events = self._concerned(backward, step)
        if events is None:
            return None
        tests = self._tests(events)
        found: list[Off | None] = []
        for setting in SETTINGS if open_in(tests) else SETTINGS[:1]:
            largest = max(largest_in(tests, setting), 1)
            lengths = Lengths(WINDOWS * largest + 1, EPOCHS, setting)
            played = self.played(events, backward, step, lengths)
            judged = None if played is None else self._judge(ledger(played), backward, step)
            if judged is not None and judged.how == NEVER and not self._never(events, backward, step, lengths):
                judged = None
            found.append(judged)
        first = found[0]
        same = first is not None and all(each is not None and each.how == first.how for each in found)
        return first if same else None

    def _never(self, events: list[Event], backward: Backward, step: Stepped, lengths: Lengths) -> bool:
        """Whether no pass steps either where the loops around have as many turns, so that their counters get as far."""
        multiplied = any(
            each.op == "*" for each in formulas_in(self._tests(events))
        )  # the window may be longer than both
        longer = None if multiplied else self.played(events, backward, step, lengths._replace(epochs=lengths.batches))
        found = None if longer is None else ledger(longer)
        return found is not None and bool(found.passes) and not found.steps()

    def played(self, events: list[Event], backward: Backward, step: Stepped, lengths: Lengths) -> list[Played] | None:
        """Return what happens in the loops around a backward pass; None if nobody knows."""
        assumed = self._assumed(backward, step)
        if assumed is None:
            return None
        window = backward.scope.iterations()[-1].site
        try:
            return list(Play(self.trace, events, window, assumed, lengths).events())
        except Unplayable:
            return None

    def _assumed(self, backward: Backward, step: Stepped) -> dict[Site, bool] | None:
        """The arms on which both happen, of the tests that no counter decides; None if a step depends on more than settings."""
        branches = self.trace.branches
        found: dict[Site, bool] = {}
        for event in (backward, step):
            for number, arm in event.guards:
                branch = branches[number]
                if branch.test is not None:
                    continue
                if event is step and branch.site not in found and branch.kind not in CONSTANT:
                    return None
                if found.setdefault(branch.site, arm) is not arm:
                    return None
        return found

    def _concerned(self, backward: Backward, step: Stepped) -> list[Event] | None:
        """What the outermost loop does to the same gradients, and its counters; None if some of that is not certain."""
        loop = backward.scope.iterations()[0].loop
        modules = self.gradients.shared(backward, step)
        found: list[Event] = []
        for event in self.trace.events:
            around = event.scope.iterations()
            if around and around[0].loop == loop:
                concerned = self._does(event, modules, (backward, step))
                if concerned is None:
                    return None
                if concerned:
                    found.append(event)
            elif isinstance(event, Stepped) and event.index > backward.index and self._may(event, modules):
                return None
        return found

    def _does(self, event: Event, modules: frozenset[int], path: tuple[Backward, Stepped]) -> bool | None:
        """Whether an event is a counter, or surely does something to the gradients of all these modules; None for perhaps."""
        gradients = self.gradients
        if isinstance(event, CounterChanged) or not isinstance(event, (Backward, Stepped, ZeroGrad)):
            return isinstance(event, CounterChanged) or (None if self._unsure(event, modules) else False)
        if isinstance(event, Backward) and (not fills(event) or event.through == "assigned"):
            return None if fills(event) and self._may(event, modules) else False  # nobody knows what was assigned
        clears = isinstance(event, ZeroGrad)
        surely = gradients.surely_clears(event, modules) if clears else bool(gradients.shared(event, *path))
        return surely or (None if self._may(event, modules) else False)

    def _unsure(self, event: Event, modules: frozenset[int]) -> bool:
        """Whether the gradients of some of these modules are read, changed, or touched in unresolved code."""
        if isinstance(event, GradientsRead) or (isinstance(event, Clipped) and event.manual):
            return self.gradients.family.related(event.modules, modules)
        touched = isinstance(event, (Escaped, GaveUp)) and self.gradients.may_have_touched(event, modules)
        return touched or (isinstance(event, (Escaped, GaveUp)) and self.gradients.may_step(event, modules))

    def _may(self, event: Backward | Stepped | ZeroGrad, modules: frozenset[int]) -> bool:
        return self.gradients.may_concern(event, modules)

    def _tests(self, events: Iterable[Event] | None) -> list[Branch]:
        branches = self.trace.branches
        numbers = {number for event in events or () for number, _ in event.guards}
        return [branches[number] for number in sorted(numbers) if branches[number].test is not None]

    def _judge(self, found: Ledger, backward: Backward, step: Stepped) -> Off | None:
        tests = self._tests_of(step)
        if tests and found.passes and not found.steps():
            return Off(NEVER, tests[-1], backward, step)
        if tests and inverted(found):
            return Off(INVERTED, tests[-1], backward, step)
        alone = all(
            event.optimizer == step.optimizer
            for event in self.trace.of(Stepped)
            if any(self._both(event, each) for each in found.filling())
        )
        if alone and (lost := cleared(found, WINDOWS)) is not None and lost.cleared is not None:
            return Off(CLEARED, lost.cleared.site, backward, step, lost.cleared)
        if (last := again(found)) is not None and (places := self._tests_of(last.clears)):
            return Off(AGAIN, places[-1], backward, step, last.clears)
        if (place := self._divided(backward)) is not None and accumulates(found):
            return Off(DIVIDED, place, backward, step)
        return None

    def _divided(self, backward: Backward) -> Site | None:
        """Where a loss is divided by how many passes of its own loop there were so far."""
        loop = backward.scope.iterations()[-1]
        turns = {event.turn for event in self.trace.of(LoopEntered) if loop.loop in (event.loop, event.before)}
        counted = {each.index for each in self.trace.of(CounterChanged) if each.scope.iterations()[-1:] == (loop,)}
        for event in self.trace.of(LossDivided):
            if event.index == backward.index - 1 and event.count is not None:
                for each in event.count.within():
                    if each.of in {"pass": turns, "counter": counted}.get(each.op, ()):
                        return event.divided_at
        return None

    def _both(self, step: Stepped, backward: Backward) -> bool:
        """Whether a step may apply gradients of a backward pass: of those of two optimizers, one may be thrown away."""
        return self._may(step, backward.modules)

    def _tests_of(self, event: Event | None) -> list[Site]:
        """The tests of counters that an event lies behind, in order."""
        guards = sorted(event.guards) if event is not None else ()
        return [branch.site for number, _ in guards if (branch := self.trace.branches[number]).test is not None]

    def left(self, backward: Backward, step: Stepped, loader: LoaderBuilt | None) -> int:
        """Return how many passes no step ever applies; 0 where the lengths of the loops are not known."""
        lengths = {event.loop: event.length for event in self.trace.of(LoopEntered)}
        often = [lengths.get(scope.loop) for scope in backward.scope.iterations()[:-1]]
        events = self._concerned(backward, step)
        batches = None if loader is None else loader.batches
        if events is None or not batches or None in often or open_in(self._tests(events)):
            return 0
        if math.prod(map(float, filter(None, often))) * batches * len(events) > STEPS:
            return 0
        played = self.played(events, backward, step, Lengths(batches, STEPS, 0))
        if played is None:
            return 0
        found = ledger(played)
        inside = backward.scope.iterations()[-1].site
        lost = [each for each in found.passes if each.cleared is not None and inside not in places_of(each.cleared)]
        return found.waiting + sum(len(each.lost) for each in lost)

    # --- as a run shows it ---

    def _seen(self) -> Iterator[Off | None]:
        built = {event.optimizer: event.modules for event in self.trace.of(OptimizerBuilt)}
        steps = {event.optimizer: event for event in self.trace.of(Stepped)}
        for optimizer in {**built, **steps}:
            step = steps.get(optimizer)
            modules = step.modules if step is not None else built[optimizer]
            found = self.observed(modules)
            if (last := next((each.backward for each in reversed(found.passes) if each.backward), None)) is None:
                continue
            if step is None:
                if len(found.passes) >= SEEN:
                    yield Off(NEVER, last.site, last)
            elif inverted(found, seen=True):
                yield Off(INVERTED, step.site, last, step)
            elif (lost := cleared(found, 2)) is not None and lost.cleared is not None:
                yield Off(CLEARED, lost.cleared.site, last, step, lost.cleared)
            elif (old := again(found, seen=True)) is not None:
                yield Off(AGAIN, step.site, last, step, old.clears)
            elif accumulates(found) and self._grow(found):
                yield Off(DIVIDED, last.site, last, step)

    def _grow(self, found: Ledger) -> bool:
        """Whether the loss of each pass was divided by one more than that of the pass before, but where it begins anew."""
        numbers = {event.index + 1: event.number for event in self.trace.of(LossDivided)}
        divisors = [numbers.get(each.backward.index) for each in found.passes if each.backward is not None]
        if None in divisors or len(divisors) < SEEN:
            return False
        known = [each for each in divisors if each is not None]
        growing = all(after in (before + 1, known[0]) for before, after in pairwise(known))
        return growing and len(set(known)) > 1

    def observed(self, modules: frozenset[int]) -> Ledger:
        """Return what the passes of a run come to for these modules."""
        played = []
        number = 0
        before = None
        for event in self.trace.events:
            if isinstance(event, (Backward, Stepped, ZeroGrad)) and event.modules & modules:
                scope = next(reversed(event.scope.iterations()), None)
                if isinstance(event, Backward) and scope is not before:
                    number, before = number + 1, scope
                if number:
                    played.append(Played(event, 0 if before is None else before.loop, number))
        return ledger(played)
