"""What was frozen and is thawed before anything trains: batch norm in evaluation mode, and parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from torch_doctor.trace import (
    Backward,
    Escaped,
    Forward,
    GaveUp,
    ModeSet,
    OptimizerBuilt,
    Stepped,
    TrainableSet,
    WeightsGiven,
)
from torch_doctor_rules.judging.gradients import fills
from torch_doctor_rules.judging.passes import Passes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Event, Trace


class Undone(NamedTuple):
    """A freezing that is undone, and what trains all the same."""

    frozen: Event
    """Where something is frozen."""
    thawed: Event
    """Where it is thawed."""
    trains: Event
    """The first call, or backward pass, that trains it."""


class Thawing:
    """The freezings of one trace that are undone before anything trains."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._passes = trace.view(Passes)
        self._related = self._passes.family.related

    def norms(self) -> Iterator[Undone]:
        """Yield batch norm that is put into evaluation mode by itself, and into training mode along with its model."""
        switches = self._trace.of(ModeSet)
        held = [each for each in switches if each.module in each.norms and not each.whole and each.training is False]
        for mode in switches if held else ():
            before = [each for each in held if each.index < mode.index and each.module in mode.norms]
            if not mode.whole or mode.module in mode.norms or mode.training is not True or not before:
                continue
            forward = self._next_forward(mode)
            if forward is None or any(
                mode.index < each.index < forward.index and each.module in mode.norms for each in held
            ):
                continue
            trains = self._passes.trains(forward) and forward.training is True
            own = {mode.module, *mode.norms}
            if trains and self._undoes(before[-1], mode, own) and not self._unseen(mode, forward, own):
                yield Undone(before[-1], mode, forward)

    def parameters(self) -> Iterator[Undone]:
        """Yield parameters that are frozen, and thawed along with others."""
        switches = self._trace.of(TrainableSet)
        told: set[TrainableSet] = set()
        for thaw in switches:
            if not thaw.thawed or thaw.since is None or thaw in told:
                continue
            frozen = [each for each in switches if not each.on and each.site == thaw.since and each.index < thaw.index]
            beside = [
                each
                for each in switches
                if each.on and each.site == thaw.site and each.scope.parent is thaw.scope.parent
            ]
            told.update(beside)
            thawed = frozenset[int]().union(*(each.thawed for each in beside))
            if (
                not frozen
                or not self._is_wider(frozen, beside, thawed)
                or not self._undoes(frozen[-1], thaw, thawed, WeightsGiven, OptimizerBuilt)
            ):
                continue
            again = (each for each in switches if not each.on and each.index > thaw.index and each.modules & thawed)
            trains = self._trained(thaw, thawed, min((each.index for each in again), default=self._trace.next))
            if trains is not None and not self._unseen(thaw, trains, thawed):
                yield Undone(frozen[-1], thaw, trains)

    def _is_wider(self, frozen: list[TrainableSet], thaws: list[TrainableSet], thawed: frozenset[int]) -> bool:
        """Whether all that was frozen in one place is thawed, and the thawing is also about others."""
        modules = frozenset[int]().union(*(each.modules for each in frozen))
        return modules <= thawed and not frozenset[int]().union(*(each.modules for each in thaws)) <= thawed

    def _next_forward(self, mode: ModeSet) -> Forward | None:
        return next(
            (
                each
                for each in self._trace.of(Forward)
                if each.index > mode.index and self._related((each.module,), (mode.module,))
            ),
            None,
        )

    def _undoes(self, frozen: Event, thawed: Event, modules: set[int] | frozenset[int], *more: type[Event]) -> bool:
        """Whether nothing uses what is frozen until it is thawed, on each path on which it is frozen."""
        kinds: tuple[type[Event], ...] = (Forward, Backward, Stepped, Escaped, *more)
        users = [
            event
            for event in self._trace.between(frozen, thawed, *kinds)
            if isinstance(event, Forward) or self._related(_of(event), modules)
        ]
        return not users and self._trace.implies(frozen, thawed) and not self._trace.asked(thawed)

    def _trained(self, thaw: TrainableSet, thawed: frozenset[int], until: int) -> Backward | None:
        """The first backward pass that reaches it, if an optimizer has it."""
        stepped = any(
            self._related(step.modules, thawed) for step in self._trace.of(Stepped) if step.index > thaw.index
        )
        return next(
            (
                each
                for each in self._trace.of(Backward)
                if thaw.index < each.index < until
                and stepped
                and fills(each)
                and self._trace.together(each, thaw)
                and thawed & self._passes.family.within(each.modules)
            ),
            None,
        )

    def _unseen(self, first: Event, last: Event, modules: set[int] | frozenset[int]) -> bool:
        """Whether code out of sight may freeze it again."""
        cut = any(first.index < each.index < last.index for each in self._trace.of(GaveUp))
        return cut or any(
            first.index < each.index < last.index and self._related(each.modules, modules)
            for each in self._trace.of(Escaped)
        )


def _of(event: Event) -> frozenset[int]:
    """The modules that an event is about."""
    of = getattr(event, "modules", frozenset[int]())
    return of | event.of if isinstance(event, WeightsGiven) else of
