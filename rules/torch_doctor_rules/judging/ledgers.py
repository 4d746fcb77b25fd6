"""What the passes of one loop come to: how many each step applies, how many are cleared unread, how many are applied again."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from torch_doctor.trace import Backward, Stepped, ZeroGrad

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch_doctor_rules.judging.playing import Played

WINDOWS: Final = 3
"""Windows that are played; a shorter one than this has no inverted test."""
TWICE: Final = 2
"""The length of the shortest window."""


class Pass(Struct):
    """One pass of the loop whose passes fill gradients, in order: what the pass, and what follows it, does to them.

    `applied` and `thrown` are the backward passes whose gradients its step applies, and `cleared` throws away unread.
    `fresh` is how many passes have gradients that its step applies for the first time, and `again` how many have some that an
    earlier step applied. `lost` are the passes that `cleared` throws away unread, and `clears` is what clears at all.
    """

    epoch: int
    number: int
    backward: Backward | None = None
    step: Stepped | None = None
    fresh: int = 0
    again: int = 0
    lost: tuple[Pass, ...] = ()
    cleared: ZeroGrad | None = None
    clears: ZeroGrad | None = None
    applied: tuple[Backward, ...] = ()
    thrown: tuple[Backward, ...] = ()


class Ledger(Struct, frozen=True):
    """What the passes of one loop come to: `waiting` have a gradient at the end that no step has applied."""

    passes: list[Pass]
    waiting: int

    def epochs(self) -> list[int]:
        """Return the runs of the loop."""
        return list(dict.fromkeys(each.epoch for each in self.passes))

    def last(self) -> list[Pass]:
        """Return the last pass of each run: what it leaves may be cleared before the next."""
        return list({each.epoch: each for each in self.passes}.values())

    def steps(self) -> bool:
        """Return whether any pass steps."""
        return any(each.step is not None for each in self.passes)

    def filling(self) -> list[Backward]:
        """Return the backward passes whose gradients are applied or thrown away, and the last one of each pass."""
        found = (event for each in self.passes for event in (*each.applied, *each.thrown, each.backward))
        return list({event.index: event for event in found if event is not None}.values())


def ledger(played: Iterable[Played]) -> Ledger:
    """Return the passes that these backward passes, steps and clearings lie in."""
    passes: list[Pass] = []
    fresh: set[int] = set()
    unread: list[Backward] = []
    applied: set[int] = set()
    for event, epoch, number in played:
        if isinstance(event, Backward) and (not passes or passes[-1].number != number):
            passes.append(Pass(epoch, number))
        if not passes:
            continue
        now, place = passes[-1], len(passes) - 1
        if isinstance(event, Backward):
            now.backward = event
            fresh.add(place)
            unread.append(event)
            applied.discard(place)
        elif isinstance(event, Stepped):
            now.step, now.fresh, now.again = event, now.fresh + len(fresh), now.again + len(applied)
            applied |= fresh
            now.applied = (*now.applied, *unread)
            fresh, unread = set(), []
        if isinstance(event, ZeroGrad) or (isinstance(event, Stepped) and event.clears):
            if isinstance(event, ZeroGrad):
                now.clears = now.clears or event
                if fresh:
                    now.thrown = (*now.thrown, *unread)
                    now.lost, now.cleared = (*now.lost, *(passes[each] for each in sorted(fresh))), now.cleared or event
            fresh, applied, unread = set(), set(), []
    return Ledger(passes, len(fresh))


def inverted(found: Ledger, *, seen: bool = False) -> bool:
    """Whether all but every k-th pass step, in each run of the loop, and no gradient is lost; in one run of it that was `seen`."""
    regular = [_regularly(found, epoch, clears=False) >= WINDOWS for epoch in found.epochs()]
    last = {id(each) for each in found.last()}
    lost = any(each.lost for each in found.passes if id(each) not in last)
    return (any if seen else all)(regular or [False]) and not lost


def accumulates(found: Ledger) -> bool:
    """Whether steps apply several passes each, but perhaps the first and those at the end of the loop."""
    last = {each.epoch: each for each in found.passes}
    steps = [each for each in found.passes if each.step is not None]
    whole = [each for each in steps[1:] if last[each.epoch] is not each]
    return bool(whole or steps) and all(each.fresh > 1 for each in whole or steps)


def cleared(found: Ledger, least: int) -> Pass | None:
    """The pass at which a part of a window is thrown away, where that happens in each window, and a step applies the rest.

    The first window may have begun before, and one that ends with the last pass of a loop may have a single pass.
    """
    first: Pass | None = None
    lost: list[Pass] = []
    thrown: list[Backward] = []
    windows = 0
    last = {each.epoch: each for each in found.passes}
    for each in found.passes:
        if each.step is not None:
            sites = {event.site for event in each.applied}
            whole = (
                lost
                and each.fresh
                and all(_same_line(other, each) for other in lost)
                and any(event.site in sites for event in thrown)
            )
            if windows and not whole and last[each.epoch] is not each:
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
    regular = [_regularly(found, epoch, clears=True) >= TWICE for epoch in found.epochs()]
    if (
        not (any if seen else all)(regular)
        or not all(each.step for each in found.passes)
        or not any(each.again for each in found.passes)
    ):
        return None
    return next((each for each in found.passes if each.clears is not None), None)


def _regularly(found: Ledger, epoch: int, *, clears: bool) -> int:
    """After how many passes of a run of the loop one comes again that clears, or that does not step; 0 if irregularly."""
    own = [each for each in found.passes if each.epoch == epoch]
    first = next(
        (each.clears.site for each in own if each.clears is not None), None
    )  # another may clear between the runs
    clearing = [each.clears is not None and each.clears.site == first for each in own]
    numbers = [number for number, each in enumerate(own) if (clearing[number] if clears else each.step is None)]
    gaps = {after - before for before, after in pairwise(numbers)}
    return gaps.pop() if len(gaps) == 1 else 0
