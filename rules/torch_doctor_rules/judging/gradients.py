"""Gradients: what fills, applies and clears them."""

from __future__ import annotations

from bisect import bisect_left
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from torch_doctor.rule import same_place
from torch_doctor.trace import (
    Backward,
    Clipped,
    Escaped,
    Forward,
    GaveUp,
    ModuleBuilt,
    OptimizerBuilt,
    Stepped,
    ZeroGrad,
)
from torch_doctor_rules.judging.family import Family

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from torch_doctor.trace import Event, Trace, Tri

CONTAINERS = frozenset(
    f"torch.nn.{name}" for name in ("Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict")
)

Update: TypeAlias = "Backward | Stepped | ZeroGrad"


class Wasted(NamedTuple):
    """Gradients that were cleared before the step that was to apply them."""

    backward: Backward
    cleared: ZeroGrad
    step: Stepped


def accumulates(backward: Backward) -> bool:
    """Whether it adds to the `.grad` of something."""
    return backward.through != "autograd.grad" and not backward.context


def fills(backward: Backward) -> bool:
    """Whether it leaves gradients in the `.grad` of parameters."""
    return accumulates(backward) and not backward.inputs_only


def can_work(backward: Backward) -> bool:
    """Whether it does not fail for certain: without a graph it does, and a condition around it then lets nobody there."""
    return not (backward.guards and backward.loss.graph is False)


class Gradients:
    """The gradients of one trace: what surely happens to them, and what may."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.family = trace.view(Family)
        self.adding = [event for event in trace.of(Backward) if accumulates(event)]
        self.filling = [event for event in trace.of(Backward) if fills(event)]
        self._optimizers = {event.optimizer: event for event in trace.of(OptimizerBuilt)}
        self._shells = {
            event.module
            for event in trace.of(ModuleBuilt)
            if event.class_site is not None or event.class_name in CONTAINERS
        }
        self._called = frozenset(event.module for event in trace.of(Forward))
        self._stepping = {event.optimizer for event in trace.of(Stepped)}
        self._wasted: list[Wasted] | None = None

    def shared(self, *events: Update) -> frozenset[int]:
        """The modules that all these events surely concern."""
        known = [event for event in events if not self._means_whatever_trains(event)]
        if not known:
            return frozenset()
        reached = [self.family.within(event.modules) for event in known]
        named = frozenset[int]().union(*(event.modules for event in known))
        return named.intersection(*reached)

    def may_concern(self, event: Update | Clipped, modules: Iterable[int]) -> bool:
        """Whether the event may touch the gradients of some of these modules."""
        return not event.whole or self.family.related(event.modules, modules)

    def still_there(self, earlier: Backward, step: Stepped, again: Backward) -> frozenset[int]:
        """The modules that were stepped with gradients that nobody may have cleared before more are added."""
        path = (earlier, step, again)
        shared = self.shared(*path)
        cleared = self._may_be_cleared(shared, *path)
        unknown = bool(cleared) and self._means_whatever_trains(step)  # it may have what is cleared alone
        left = frozenset(each for each in shared - cleared if not (unknown or self._goes_with(each, cleared)))
        built = self._optimizers.get(step.optimizer)
        if built is not None and left <= built.lent and self._may_be_cleared(built.modules - built.lent, *path):
            return frozenset()  # it clears what it has: only what it lacks, and was meant to have, is left
        if not all(self.on_path(event, *path) for event in path) or self.may_escape(earlier, again, left, *path):
            return frozenset()
        changed = any(  # who changes what a step has left means to go on with it
            clip.manual and self.on_path(clip, step, again) and self.may_concern(clip, left)
            for clip in self.trace.between(step, again, Clipped)
        )
        return frozenset() if changed else left

    def _may_be_cleared(self, modules: frozenset[int], first: Event, *path: Event) -> frozenset[int]:
        """Those of the modules whose gradients may be cleared between the first and the last event of the path."""
        clearing: list[Stepped | ZeroGrad] = [
            *self.trace.between(first, path[-1], ZeroGrad),
            *(step for step in self.trace.between(first, path[-1], Stepped) if step.clears),
        ]
        possible = [event for event in clearing if self.on_path(event, first, *path)]
        return frozenset(module for module in modules if any(self.may_concern(event, (module,)) for event in possible))

    def harmless(self, stale: frozenset[int], again: Backward) -> frozenset[int]:
        """Those of the modules whose sums may be cleared before the next step that may apply them, or whose run ends first."""
        path: list[Stepped | ZeroGrad] = [*self.trace.of(ZeroGrad), *self.trace.of(Stepped)]
        later = [event for event in path if event.index > again.index and self.on_path(event, again)]
        harmless = set()
        for module in stale:
            own = [event for event in later if self.may_concern(event, (module,))]
            step = next((event for event in own if isinstance(event, Stepped)), None)
            before = (each for each in own if step is None or (each.index < step.index and self.on_path(each, step)))
            if any(isinstance(each, ZeroGrad) for each in before) or (step is None and self.trace.observed):
                harmless.add(module)
        return frozenset(harmless)

    def finds_none(self, step: Stepped, modules: frozenset[int]) -> bool:
        """Whether a step surely finds no gradients of these modules: none came since they were cleared, or ever."""
        for event in reversed(self.trace.before(step)):
            if self.on_path(event, step):
                if self.may_fill(event, modules):
                    return False
                if self.surely_clears(event, modules) and self.trace.implies(step, event):
                    return True
        return not self.trace.begins_outside

    def may_fill(self, event: Event, modules: frozenset[int]) -> bool:
        """Whether these modules may get gradients there: by a `backward()`, or by who gets what they computed."""
        if isinstance(event, Backward) or (isinstance(event, Clipped) and event.fills):
            return self.may_concern(event, modules)
        if isinstance(event, Escaped):
            passed = self.trace.at(*(event.forwards | event.outputs))
            if self.family.related((each.module for each in passed if isinstance(each, Forward)), modules):
                return True
        return self.may_have_touched(event, modules)

    def moves(self, step: Stepped, module: int) -> bool:
        """Whether the step surely moves parameters of the module."""
        return self._means_whatever_trains(step) or any(
            part in self.family.within((module,)) or module in self.family.within((part,)) for part in step.modules
        )

    def may_escape(self, first: Event, last: Event, modules: frozenset[int], *path: Event) -> bool:
        """Whether, on the path, the gradients of these modules escape to code that may touch them in between."""
        for event in self.trace.between(first, last, Escaped, GaveUp):
            if self.on_path(event, first, last, *path) and self.may_have_touched(event, modules):
                rare = self.trace.periodic(event) and not any(self.trace.periodic(step) for step in path)
                if isinstance(event, GaveUp) or not rare:
                    return True
        return False

    def may_have_touched(self, event: Event, modules: frozenset[int]) -> bool:
        """Whether these modules, an optimizer or a loss of theirs escape there, or what follows is unresolved."""
        if not isinstance(event, Escaped) or event.builds:
            return isinstance(event, GaveUp)
        return self.family.related(event.modules, modules) or any(
            self.may_own(optimizer, modules) for optimizer in event.optimizers
        )

    def may_own(self, optimizer: int, modules: frozenset[int]) -> bool:
        """Whether some of these modules may be this optimizer's."""
        built = self._optimizers.get(optimizer)
        return built is None or not built.whole or self.family.related(built.modules, modules)

    def may_step(self, event: Event, modules: frozenset[int]) -> bool:
        """Whether these modules may be updated there: by a step, by who gets an optimizer that may be theirs, or unseen.

        Who gets the modules alone has no optimizer to step.
        """
        if isinstance(event, Stepped):
            return self.may_concern(event, modules)
        if isinstance(event, Escaped) and not event.builds:
            unresolved = event.to.endswith(".step") and not event.modules
            return unresolved or any(self.may_own(optimizer, modules) for optimizer in event.optimizers)
        return isinstance(event, GaveUp)

    def concerns(self, event: Update, modules: frozenset[int], *path: Update) -> Tri:
        """Whether an event surely fills, applies or clears the gradients of all these modules; None if it only may."""
        surely = self.surely_clears(event, modules) if isinstance(event, ZeroGrad) else bool(self.shared(event, *path))
        if isinstance(event, Backward):
            if not fills(event):
                return False
            surely = surely and event.through != "assigned"  # nobody knows what was assigned
        return surely or (None if self.may_concern(event, modules) else False)

    def surely_clears(self, event: Event, modules: frozenset[int]) -> bool:
        """Whether the gradients of all these modules are gone behind the event."""
        clears = isinstance(event, ZeroGrad) or (isinstance(event, Stepped) and event.clears)
        return clears and isinstance(event, (ZeroGrad, Stepped)) and modules <= self.shared(event)

    def until_cleared(self, backward: Backward, modules: frozenset[int], *path: Event) -> tuple[list[Event], bool]:
        """What may happen, with all of the `path`, to these gradients of a pass until they are cleared, and whether they are."""
        found: list[Event] = []
        for event in self.trace.after(backward):
            if self.on_path(event, backward, *path):
                found.append(event)
                if self.surely_clears(event, modules) and self.trace.implies(backward, event):
                    return found, True
        return found, False

    def on_path(self, event: Event, *path: Event) -> bool:
        """Whether the event can happen on a path with all these."""
        return all([self.trace.together(event, other) for other in path])  # noqa: C419 - it is asked very often

    def wasted(self) -> list[Wasted]:
        """Gradients that are cleared between the `backward()` and the `step()` of one iteration, once per clearing."""
        if self._wasted is None:
            found = (next(self._wasted_by(cleared), None) for cleared in self.trace.of(ZeroGrad))
            self._wasted = [wasted for wasted in found if wasted is not None]
        return self._wasted

    def _wasted_by(self, cleared: ZeroGrad) -> Iterator[Wasted]:
        trace, steps = self.trace, self.trace.of(Stepped)
        place = bisect_left(steps, cleared.index, key=attrgetter("index"))
        applied = next((step for step in reversed(steps[:place]) if self._is_for_all(step, cleared)), None)
        filling = self.filling[
            bisect_left(self.filling, applied.index, key=attrgetter("index")) if applied is not None else 0 :
        ]
        filling = filling[: bisect_left(filling, cleared.index, key=attrgetter("index"))]
        again = trace.of(Backward)
        later = again[bisect_left(again, cleared.index, key=attrgetter("index")) :] if filling else ()
        filled = next((event.index for event in later if self._is_for_all(event, cleared)), trace.next)
        for step in steps[place:] if filling else ():
            if step.index > filled:
                return
            if not trace.implies(step, cleared) or not trace.same_iteration(cleared, step):
                continue
            for backward in reversed(filling):
                if (
                    self.on_path(backward, cleared, step)
                    and trace.same_iteration(backward, cleared)
                    and trace.same_iteration(backward, step)
                    and self._nothing_saves(Wasted(backward, cleared, step))
                ):
                    yield Wasted(backward, cleared, step)

    def _is_for_all(self, event: Backward | Stepped, cleared: ZeroGrad) -> bool:
        """Whether the event happens on each path, and may concern whatever the clearing surely concerns."""
        known = not self._means_whatever_trains(cleared)
        every = known and self.family.within(cleared.modules) <= self.family.within(event.modules)
        return not event.guards and (every or not event.whole)

    def _nothing_saves(self, wasted: Wasted) -> bool:
        backward, cleared, step = wasted
        lost = self.shared(backward, cleared, step)
        if not lost or (not cleared.target and self._is_left_by_hand(wasted)):
            return False  # who clears some gradients by hand freezes their parameters
        applied = any(
            self.on_path(other, *wasted) and self.may_concern(other, lost)
            for other in self.trace.between(backward, cleared, Stepped)
        )
        filled_again = any(
            self.on_path(other, *wasted) and self.may_fill(other, lost)
            for other in self.trace.between(cleared, step, Backward, Clipped, Escaped)
        )
        return not (applied or filled_again or self.may_escape(backward, step, lost, *wasted))

    def _is_left_by_hand(self, wasted: Wasted) -> bool:
        """Whether some gradients are left for the step: by hand, one parameter is cleared after the other, at one place."""
        backward, cleared, step = wasted
        alike = (each for each in self.trace.between(backward, step, ZeroGrad) if same_place(each.site, cleared.site))
        lost = frozenset[int]().union(*(self.shared(backward, each, step) for each in alike))
        return any(not self._goes_with(module, lost) for module in self.shared(backward, step) - lost)

    def _goes_with(self, module: int, cleared: frozenset[int]) -> bool:
        """Whether the module's gradients are gone with those that were cleared.

        They are when it only holds others, and when it never appears without a cleared module that is called as a whole
        and of which it seems to be a part. A tensor that no module has is cleared by whoever got it out of sight, perhaps.
        """
        if not cleared or module in self._shells:
            return bool(cleared)
        if any(module in step.leaves for step in self.trace.of(Stepped)):
            return any(module in escaped.modules for escaped in self.trace.of(Escaped))
        updates: list[Backward | Stepped] = [*self.trace.of(Backward), *self.trace.of(Stepped)]
        groups = [event.modules for event in updates if module in event.modules]
        return module not in self._called and any(
            all(whole in group for group in groups) for whole in cleared & self._called
        )

    def _means_whatever_trains(self, event: Update) -> bool:
        """Whether its parameters are not known, but it can only be about the single optimizer that steps."""
        if event.modules or event.whole:
            return False
        if isinstance(event, Backward):
            return len(self._stepping) == 1 and not self.trace.begins_outside
        optimizer = event.optimizer if isinstance(event, Stepped) else event.target
        return optimizer != 0 and self._stepping == {optimizer}
