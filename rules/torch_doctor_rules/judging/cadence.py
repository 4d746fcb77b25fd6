"""Cadences: which passes of a loop fill gradients, and which apply and clear them, found by running the loop's counters."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from torch_doctor.trace import (
    Backward,
    CounterChanged,
    LoopEntered,
    Owned,
    Stepped,
    ZeroGrad,
)
from torch_doctor_rules.judging.gradients import Gradients
from torch_doctor_rules.judging.ledgers import Ledger, ledger
from torch_doctor_rules.judging.playing import (
    CONSTANT,
    STEPS,
    Lengths,
    Play,
    Played,
    Unplayable,
    numbers_in,
    open_in,
    places_of,
    starts_unknown,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from torch_doctor.trace import Branch, Event, Site, Trace

WINDOWS: Final = 3
"""Windows that are played; a shorter one than this has no inverted test."""
EPOCHS: Final = 3
"""Runs of the loop that are played."""
SETTINGS: Final = (3, 4)
"""What a setting is in a play, where its default is not known."""


class Window(Struct, frozen=True):
    """Several backward passes of one line, in iterations that follow each other, and the step that applies their sum.

    Of `passes`, the source shows only one; `backward` is the last. `length` is how many there are in a run.
    """

    passes: tuple[Backward, ...]
    step: Stepped

    @property
    def backward(self) -> Backward:
        """The last of the passes."""
        return self.passes[-1]

    @property
    def length(self) -> int:
        """How many passes there are."""
        return len(self.passes)


class Cadence:
    """The cadence of every optimizer of one trace."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.gradients = trace.view(Gradients)
        self._windows: list[Window] | None = None
        self._observed: dict[frozenset[int], Ledger] = {}
        self._played: dict[object, Ledger | None] = {}
        self._concerned: dict[tuple[int, int], list[Event] | None] = {}

    def windows(self) -> list[Window]:
        """Return the steps that surely apply the gradients of several passes of one line each."""
        if self._windows is None:
            self._windows = [*(self._seen() if self.trace.observed else self._planned())]
        return self._windows

    # --- as the source shows it ---

    def _planned(self) -> Iterator[Window]:
        known: dict[object, bool] = {}
        for backward in self.gradients.filling:
            for batch in backward.scope.iterations()[-1:]:
                for step in self.trace.of(Stepped):
                    inside = step.index > backward.index and batch in step.scope.iterations() and self.tests_of(step)
                    if inside and self.gradients.shared(step, backward):
                        key = backward.site, step.site, batch.loop
                        if key not in known:
                            found = self.played(backward, step)
                            known[key] = found is not None and found.accumulates()
                        if known[key]:
                            yield Window((backward,), step)
                            break

    def planned_length(self, window: Window) -> int:
        """Return how many passes a window has as the source shows it; 0 if a setting decides, or nobody knows."""
        tests = [branch.test for branch in self.tests_of(window.step) if branch.test is not None]
        found = self.played(window.backward, window.step)
        if found is None or any(part.op == "setting" for test in tests for part in test.within()):
            return 0
        return max((len(each.applied) for each in found.passes), default=0)

    def played(self, backward: Backward, step: Stepped, lengths: Lengths | None = None) -> Ledger | None:
        """Return what the loops around a backward pass come to; None if nobody knows."""
        events, assumed = self.concerned(backward, step), self._assumed(backward, step)
        if events is None or assumed is None:
            return None
        lengths = lengths or self.lengths(events)
        window = backward.scope.iterations()[-1].site
        key = (window, lengths, *(event.index for event in events), *assumed.items())
        if key not in self._played:
            try:
                self._played[key] = ledger(Play(self.trace, events, window, assumed, lengths).events())
            except Unplayable:
                self._played[key] = None
        return self._played[key]

    def lengths(self, events: Iterable[Event], setting: int = SETTINGS[0]) -> Lengths:
        """Return lengths of loops that have several windows, of which the last is not complete."""
        return Lengths(WINDOWS * max(numbers_in(self.tests(events), setting), default=1) + 1, EPOCHS, setting)

    def leaves(self, window: Window, batches: int | None) -> bool:
        """Return whether passes at the end of the loop find no step, with so many batches, or with some number of them."""
        backward, step = window.backward, window.step
        events = self.concerned(backward, step) or []
        tests = self.tests(events)
        if self.taken_over(backward, step) or starts_unknown(events, tests):
            return False
        whole = self._to_the_end(window, batches)
        if whole is not None:
            return whole > 0
        for setting in SETTINGS if open_in(tests) else SETTINGS[:1]:
            period = math.lcm(*numbers_in(tests, setting))
            least = WINDOWS * period
            for often in (least + 1, least + 2) if batches is None else (min(batches, least + batches % period),):
                found = self.played(backward, step, Lengths(often, EPOCHS, setting))
                rests = set() if found is None else set(found.rests().values())
                if len(rests) == 1 and 0 not in rests:
                    return True
        return False

    def taken_over(self, backward: Backward, step: Stepped) -> bool:
        """Return whether somebody out of sight, or after the loop, may apply gradients that the step left."""
        gradients, modules = self.gradients, self.gradients.shared(backward, step)
        for event in self.trace.after(step):
            inside = self.trace.same_phase(event, step)
            if gradients.may_step(event, modules) and not (inside and isinstance(event, Stepped)):
                return True
            again = isinstance(event, Backward) and gradients.may_concern(event, modules)
            if not inside and (again or gradients.surely_clears(event, modules)):
                return False
        return False

    def _to_the_end(self, window: Window, batches: int | None) -> int | None:
        """How many passes no step ever applies; None where the lengths of the loops are not known."""
        lengths = {event.loop: event.length for event in self.trace.of(LoopEntered)}
        loops = window.backward.scope.iterations()
        often = [lengths.get(scope.loop) for scope in loops[:-1]]
        events = self.concerned(window.backward, window.step) or []
        if not batches or None in often or open_in(self.tests(events)):
            return None
        if math.prod(map(float, filter(None, often))) * batches * len(events) > STEPS:
            return None
        found = self.played(window.backward, window.step, Lengths(batches, STEPS, 0))
        if found is None:
            return None
        lost = [each for each in found.passes if each.cleared and loops[-1].site not in places_of(each.cleared)]
        return found.waiting + sum(len(each.lost) for each in lost)

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

    def concerned(self, backward: Backward, step: Stepped) -> list[Event] | None:
        """Return what the outermost loop surely does to the same gradients, and its counters; None for what it only may do."""
        key = backward.index, step.index
        if key not in self._concerned:
            self._concerned[key] = self._found(backward, step)
        return self._concerned[key]

    def _found(self, backward: Backward, step: Stepped) -> list[Event] | None:
        gradients, modules = self.gradients, self.gradients.shared(backward, step)
        found: list[Event] = []
        for event in self.trace.events:
            if isinstance(event, (CounterChanged, Backward, Stepped, ZeroGrad)) and self.trace.same_phase(event, step):
                does = isinstance(event, CounterChanged) or gradients.concerns(event, modules, backward, step)
                if does is None:
                    return None
                found += [event] * does
        return found

    def tests(self, events: Iterable[Event]) -> list[Branch]:
        """Return the tests of counters that events lie behind."""
        branches = self.trace.branches
        numbers = {number for event in events for number, _ in event.guards}
        return [branches[number] for number in sorted(numbers) if branches[number].test is not None]

    def tests_of(self, event: Event | None) -> list[Branch]:
        """Return the tests of counters that an event lies behind, in order."""
        return self.tests([event]) if event is not None else []

    # --- as a run shows it ---

    def _seen(self) -> Iterator[Window]:
        for step in self.trace.of(Stepped):
            for each in self.observed(step.modules).passes:
                if each.step is step:
                    batches = {scope for event in each.applied for scope in event.scope.iterations()[-1:]}
                    lines = {event.site for event in each.applied}
                    if len(lines) == 1 < len(batches) == len(each.applied):
                        yield Window(each.applied, step)

    def observed(self, modules: frozenset[int]) -> Ledger:
        """Return what the passes of a run come to for these modules."""
        if modules in self._observed:
            return self._observed[modules]
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
        return self._observed.setdefault(modules, ledger(played))


def may_divide(trace: Trace, backward: Backward) -> bool:
    """Return whether a library may divide the loss: an accelerator without settings of windows does not."""
    if backward.through == "backward":
        return False
    owners = trace.of(Owned)
    bare = bool(owners) and all(event.framework == "accelerate" and not event.details for event in owners)
    return not (bare and backward.through.endswith(".backward"))
