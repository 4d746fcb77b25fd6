"""Optimizers that step on the wrong passes of their windows, and windows that are cleared before their step."""

from __future__ import annotations

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
from torch_doctor_rules.judging.cadence import SETTINGS, WINDOWS, Cadence
from torch_doctor_rules.judging.playing import formulas_in, open_in, places_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Event, Site, Trace
    from torch_doctor_rules.judging.ledgers import Ledger, Pass

TWICE: Final = 2
"""The length of the shortest window."""
SEEN: Final = 6
"""Passes without a step in which a run shows that an optimizer never steps."""
INVERTED, NEVER, CLEARED, AGAIN, DIVIDED = "inverted", "never", "cleared", "again", "divided"


class Off(Struct, frozen=True):
    """An optimizer that is out of step with its windows: `how`, and `place`, the test or the clearing that is wrong."""

    how: str
    place: Site
    backward: Backward
    step: Stepped | None = None
    cleared: ZeroGrad | None = None


def off(trace: Trace) -> Iterator[Off]:
    """Return every optimizer that surely steps on the wrong passes, or whose window is cleared before its step."""
    return (_seen if trace.observed else _planned)(trace.view(Cadence))


def _planned(cadence: Cadence) -> Iterator[Off]:
    done = set()
    trace = cadence.trace
    counted = any(cadence.tests_of(event) for event in trace.of(ZeroGrad))
    for step in reversed(trace.of(Stepped)):
        backward = _filled_by(cadence, step)
        if backward is None or (key := (step.site, backward.site)) in done:
            continue
        done.add(key)
        if counted or cadence.tests_of(step) or backward.scope.iterations()[-1].site not in places_of(step):
            found = _judged(cadence, backward, step)
            if found is not None:
                yield found


def _filled_by(cadence: Cadence, step: Stepped) -> Backward | None:
    """The last backward pass before a step that surely fills what it applies, in the same outermost loop."""
    around = step.scope.iterations()
    for backward in reversed(cadence.gradients.filling):
        own = backward.scope.iterations()
        inside = own and around and own[0].loop == around[0].loop and backward.index < step.index
        if inside and cadence.gradients.shared(step, backward):
            return backward
    return None


def _judged(cadence: Cadence, backward: Backward, step: Stepped) -> Off | None:
    events = cadence.concerned(backward, step)
    if events is None or _touched(cadence, backward, step) or cadence.taken_over(backward, step):
        return None
    found: list[Off | None] = []
    for setting in SETTINGS if open_in(cadence.tests(events)) else SETTINGS[:1]:
        played = cadence.played(backward, step, cadence.lengths(events, setting))
        judged = None if played is None else _judge(cadence, played, backward, step)
        never = judged is not None and judged.how == NEVER
        found.append(None if never and not _never(cadence, events, backward, step, setting) else judged)
    first = found[0]
    return first if first is not None and all(each is not None and each.how == first.how for each in found) else None


def _touched(cadence: Cadence, backward: Backward, step: Stepped) -> bool:
    """Whether the script reads or changes the gradients in the same phase, or they get out of sight there."""
    trace, gradients = cadence.trace, cadence.gradients
    modules = gradients.shared(backward, step)
    read: list[GradientsRead | Clipped] = [
        *trace.of(GradientsRead),
        *(each for each in trace.of(Clipped) if each.manual),
    ]
    return any(
        trace.same_phase(each, backward) and gradients.family.related(each.modules, modules) for each in read
    ) or any(
        trace.same_phase(event, backward) and gradients.may_have_touched(event, modules)
        for event in (*trace.of(Escaped), *trace.of(GaveUp))
    )


def _never(cadence: Cadence, events: list[Event], backward: Backward, step: Stepped, setting: int) -> bool:
    """Whether no pass steps either where the loops around have as many turns, so that their counters get as far."""
    if any(each.op == "*" for each in formulas_in(cadence.tests(events))):
        return False  # the window may be longer than both
    lengths = cadence.lengths(events, setting)
    found = cadence.played(backward, step, lengths._replace(epochs=lengths.batches))
    return found is not None and bool(found.passes) and not found.steps()


def _judge(cadence: Cadence, found: Ledger, backward: Backward, step: Stepped) -> Off | None:
    tests = cadence.tests_of(step)
    if tests and found.passes and not found.steps():
        return Off(NEVER, tests[-1].site, backward, step)
    if tests and inverted(found):
        return Off(INVERTED, tests[-1].site, backward, step)
    alone = all(
        event.optimizer == step.optimizer
        for event in cadence.trace.of(Stepped)
        if any(cadence.gradients.may_concern(event, each.modules) for each in found.filling())
    )  # of the gradients of two optimizers, one may be thrown away
    if alone and (lost := cleared(found, WINDOWS)) is not None and lost.cleared is not None:
        return Off(CLEARED, lost.cleared.site, backward, step, lost.cleared)
    if (last := again(found)) is not None and (places := cadence.tests_of(last.clears)):
        return Off(AGAIN, places[-1].site, backward, step, last.clears)
    if (place := _divided(cadence.trace, backward)) is not None and found.accumulates():
        return Off(DIVIDED, place, backward, step)
    return None


def _divided(trace: Trace, backward: Backward) -> Site | None:
    """Where a loss is divided by how many passes of its own loop there were so far."""
    loop = backward.scope.iterations()[-1]
    turns = {event.turn for event in trace.of(LoopEntered) if loop.loop in (event.loop, event.before)}
    counted = {each.index for each in trace.of(CounterChanged) if each.scope.iterations()[-1:] == (loop,)}
    for event in trace.of(LossDivided):
        if event.index == backward.index - 1 and event.count is not None:
            for each in event.count.within():
                if each.of in {"pass": turns, "counter": counted}.get(each.op, ()):
                    return event.divided_at
    return None


def _seen(cadence: Cadence) -> Iterator[Off]:
    trace = cadence.trace
    built = {event.optimizer: event.modules for event in trace.of(OptimizerBuilt)}
    steps = {event.optimizer: event for event in trace.of(Stepped)}
    for optimizer in {**built, **steps}:
        step = steps.get(optimizer)
        found = cadence.observed(step.modules if step is not None else built[optimizer])
        if (last := next((each.backward for each in reversed(found.passes) if each.backward), None)) is None:
            continue
        if step is None:
            if len(found.passes) >= SEEN:
                yield Off(NEVER, last.site, last)
        elif inverted(found, seen=True):
            yield Off(INVERTED, step.site, last, step)
        elif (lost := cleared(found, TWICE)) is not None and lost.cleared is not None:
            yield Off(CLEARED, lost.cleared.site, last, step, lost.cleared)
        elif (old := again(found, seen=True)) is not None:
            yield Off(AGAIN, step.site, last, step, old.clears)
        elif found.accumulates() and _grow(trace, found):
            yield Off(DIVIDED, last.site, last, step)


def _grow(trace: Trace, found: Ledger) -> bool:
    """Whether the loss of each pass was divided by one more than that of the pass before, but where it begins anew."""
    numbers = {event.index + 1: event.number for event in trace.of(LossDivided)}
    divisors = [numbers.get(each.backward.index) for each in found.passes if each.backward is not None]
    known = [each for each in divisors if each is not None]
    if len(known) < max(len(divisors), SEEN):
        return False
    growing = all(after in (before + 1, known[0]) for before, after in pairwise(known))
    return growing and len(set(known)) > 1


def inverted(found: Ledger, *, seen: bool = False) -> bool:
    """Whether all but every k-th pass step, in each run of the loop, and no gradient is lost; in one run of it that was `seen`."""
    regular = [_regularly(passes, clears=False) >= WINDOWS for passes in found.runs().values()]
    last = found.last()
    lost = any(each.lost for each in found.passes if each not in last)
    return (any if seen else all)(regular or [False]) and not lost


def cleared(found: Ledger, least: int) -> Pass | None:
    """The pass at which a part of a window is thrown away, where that happens in each window, and a step applies the rest.

    The first window may have begun before, and one that ends with the last pass of a loop may have a single pass.
    """
    first: Pass | None = None
    lost: list[Pass] = []
    thrown: list[Backward] = []
    windows = 0
    last = found.last()
    for each in found.passes:
        if each.step is not None:
            sites = {event.site for event in each.applied}
            whole = (
                lost
                and each.fresh
                and all(_same_line(other, each) for other in lost)
                and any(event.site in sites for event in thrown)
            )
            if windows and not whole and each not in last:
                return None
            windows, lost, thrown = windows + (bool(whole) or not windows), [], []
        if each.lost:
            lost += each.lost
            thrown += each.thrown
            first = first or each
    return first if windows >= least else None


def _same_line(one: Pass, other: Pass) -> bool:
    return one.backward is not None and other.backward is not None and one.backward.site == other.backward.site


def again(found: Ledger, *, seen: bool = False) -> Pass | None:
    """The pass of a clearing, where each pass steps and only every k-th clears what earlier ones have applied."""
    regular = [_regularly(passes, clears=True) >= TWICE for passes in found.runs().values()]
    steps = (any if seen else all)(regular) and all(each.step for each in found.passes)
    if not steps or not any(each.again for each in found.passes):
        return None
    return next((each for each in found.passes if each.clears is not None), None)


def _regularly(passes: list[Pass], *, clears: bool) -> int:
    """After how many passes of a run of the loop one comes again that clears, or that does not step; 0 if irregularly."""
    clearing = [each.clears.site if each.clears is not None else None for each in passes]
    first = next(filter(None, clearing), None)  # another may clear between the runs
    numbers = [
        number
        for number, each in enumerate(passes)
        if (first is not None and clearing[number] == first if clears else each.step is None)
    ]
    gaps = {after - before for before, after in pairwise(numbers)}
    return gaps.pop() if len(gaps) == 1 else 0
