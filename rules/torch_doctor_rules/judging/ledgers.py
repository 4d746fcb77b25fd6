"""Ledgers: what the passes of one loop come to, and which of them each step applies, or a clearing throws away unread."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from torch_doctor.trace import Backward, Stepped, ZeroGrad

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch_doctor_rules.judging.playing import Played


class Pass(Struct, eq=False):
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

    def runs(self) -> dict[int, list[Pass]]:
        """Return the passes of each run of the loop."""
        found: dict[int, list[Pass]] = {}
        for each in self.passes:
            found.setdefault(each.epoch, []).append(each)
        return found

    def last(self) -> list[Pass]:
        """Return the last pass of each run: what it leaves may be cleared before the next."""
        return [passes[-1] for passes in self.runs().values()]

    def rests(self) -> dict[int, int]:
        """Return how many passes at the end of each run no step of that run applies."""
        found: dict[int, int] = {}
        for each in self.passes:
            found[each.epoch] = 0 if each.step is not None else found.get(each.epoch, 0) + 1
        return found

    def steps(self) -> bool:
        """Return whether any pass steps."""
        return any(each.step is not None for each in self.passes)

    def accumulates(self) -> bool:
        """Return whether steps apply several passes each, but perhaps the first and those at the end of the loop."""
        last = self.last()
        steps = [each for each in self.passes if each.step is not None]
        whole = [each for each in steps[1:] if each not in last]
        return bool(whole or steps) and all(each.fresh > 1 for each in whole or steps)

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
