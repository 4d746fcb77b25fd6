"""Gradient clipping: its place between the backward passes that fill gradients and the steps that apply them."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from torch_doctor.trace import Backward, Clipped, Escaped, GaveUp, OptimizerBuilt, ScopeKind, Stepped, ZeroGrad
from torch_doctor_rules.judging.gradients import Gradients

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from torch_doctor.trace import Event, Scope, Trace


class Misplaced(NamedTuple):
    """A clipping that does not clip what its step applies: `how` it comes too early or late, beside which events."""

    clip: Clipped
    how: str
    backward: Backward
    step: Stepped


BEFORE, AFTER, BETWEEN = "before the backward pass", "after the step", "between micro-batches"


class Clipping:
    """The clippings of one trace, each with what surely, or maybe, happens to the same gradients around it."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.gradients = trace.view(Gradients)
        self.clips = [event for event in trace.of(Clipped) if not event.manual]
        self._owned = {event.optimizer: event.modules for event in trace.of(OptimizerBuilt)}
        self._single = len({step.optimizer for step in trace.of(Stepped)}) == 1

    def misplaced(self) -> Iterator[Misplaced]:
        """The clippings that surely miss the gradients that are applied."""
        for clip in self.clips:
            found = self._too_late(clip) or self._too_early(clip) or self._too_often(clip)
            if found is not None:
                yield found

    def one_by_one(self) -> Iterator[Clipped]:
        """The clippings of one parameter at a time, which no optimizer's own `step()` does."""
        times = Counter(clip.site for clip in self.clips if clip.alone)
        for clip in self.clips:
            own = any(scope.kind is ScopeKind.CALL and scope.name == "step" for scope in clip.scope.chain())
            if clip.alone and not own and (times[clip.site] > 1 or not self.trace.observed):
                yield clip

    def meets(self, clip: Clipped | Stepped, event: Backward | Stepped | ZeroGrad) -> bool:
        """Whether both surely concern the same gradients: those of one module, or of all that is ever updated."""
        clipped, given = self._modules(clip), self._modules(event)
        if clipped and given:
            return self.gradients.family.related(clipped, given)
        return self._single and not (clip.whole and event.whole)

    def may_meet(self, clip: Clipped, event: Backward | Stepped | ZeroGrad | Clipped) -> bool:
        """Whether both may concern the same gradients."""
        both_known = clip.whole and event.whole
        return not both_known or self.gradients.family.related(self._modules(clip), self._modules(event))

    def _modules(self, event: Backward | Stepped | ZeroGrad | Clipped) -> frozenset[int]:
        """The modules that the event is about: those of its optimizer for a step that a scaler left out."""
        if isinstance(event, Stepped) and event.scaled and not event.modules:
            return self._owned.get(event.optimizer, event.modules)
        return event.modules

    def in_place(self, clip: Clipped) -> bool:
        """Whether gradients came before the clipping, and a step applies them before others come."""
        events: list[Backward | Stepped] = [*self.trace.of(Backward), *self.trace.of(Stepped)]
        events.sort(key=attrgetter("index"))
        around = [event for event in events if self.may_meet(clip, event) and not self._not_here(event)]
        before = [event for event in around if event.index < clip.index]
        after = [event for event in around if event.index > clip.index]
        return bool(before and after) and isinstance(before[-1], Backward) and isinstance(after[0], Stepped)

    def _near(self, clip: Clipped, *kinds: type[Event]) -> Iterator[Event]:
        """The events of these classes on a path with the clipping and in its pass, in order."""
        one_pass = self._pass(clip)
        found = chain.from_iterable(map(self.trace.of, kinds))
        for event in sorted(found, key=attrgetter("index")):
            if self.trace.together(event, clip) and (one_pass is None or one_pass in event.scope.iterations()):
                yield event

    def _pass(self, clip: Clipped) -> Scope | None:
        """The innermost iteration around the clipping in which gradients are computed; None outside of all loops."""
        filled = [scope for event in self.gradients.filling for scope in event.scope.iterations()]
        return next((scope for scope in reversed(clip.scope.iterations()) if scope in filled), None)

    def _too_late(self, clip: Clipped) -> Misplaced | None:
        """The step has applied the gradients, and no other follows in the iteration."""
        around = list(self._near(clip, Backward, Stepped, Escaped, GaveUp))
        before = [event for event in around if event.index < clip.index]
        if any(self._may_step(clip, event) for event in around if event.index > clip.index):
            return None
        for number, step in reversed(list(enumerate(before))):
            if isinstance(step, Stepped) and not step.manual and self.meets(clip, step):
                backward = self._last_backward(clip, before[:number], step)
                return Misplaced(clip, AFTER, backward, step) if backward is not None else None
            if self._may_go_backward(clip, step):
                return None
        return None

    def _too_early(self, clip: Clipped) -> Misplaced | None:
        """No gradients are there yet in the iteration, and those that come are applied unclipped."""
        around = list(self._near(clip, Backward, Stepped, Escaped, GaveUp, Clipped))
        after = [event for event in around if event.index > clip.index]
        if self._pass(clip) is None or any(
            self._may_go_backward(clip, event) for event in around if event.index < clip.index
        ):
            return None
        backward: Backward | None = None
        for event in after:
            if isinstance(event, Stepped) and self.may_meet(clip, event):
                meant = backward is not None and self.meets(clip, event) and not event.manual
                return Misplaced(clip, BEFORE, backward, event) if meant and backward is not None else None
            if isinstance(event, Clipped) and backward is not None and self.may_meet(clip, event):
                return None
            if isinstance(event, Backward) and self.meets(clip, event) and not self._not_here(event):
                backward = backward or event
            elif not isinstance(event, Clipped) and self._may_go_backward(clip, event):
                return None
        return None

    def _too_often(self, clip: Clipped) -> Misplaced | None:
        """Every micro-batch clips what was added up so far, and only every k-th applies it."""
        around = list(self._near(clip, Backward, Stepped, ZeroGrad))
        every = [event for event in around if not self._rarer(clip, event)]
        steps = [event for event in around if isinstance(event, Stepped) and self.may_meet(clip, event)]
        cleared = any(isinstance(event, ZeroGrad) and self.may_meet(clip, event) for event in every)
        if self.trace.observed:
            return self._again(clip)
        if cleared or not steps or any(step in every or step.index < clip.index or step.manual for step in steps):
            return None
        backward = self._last_backward(clip, [event for event in every if event.index < clip.index], steps[0])
        found = backward is not None and self.meets(clip, steps[0])
        return Misplaced(clip, BETWEEN, backward, steps[0]) if found and backward is not None else None

    def _again(self, clip: Clipped) -> Misplaced | None:
        """As a run shows it: the same lines add to the clipped gradients, and clip again, before a step."""
        earlier: Backward | None = None
        later: Backward | None = None
        for event in self.trace.events:
            if not isinstance(event, (Backward, Stepped, ZeroGrad, Clipped)) or not self.may_meet(clip, event):
                continue
            if isinstance(event, Backward) and event.index < clip.index:
                earlier = event
            elif isinstance(event, (Stepped, ZeroGrad)) and event.index < clip.index:
                earlier = None
            elif isinstance(event, Backward) and earlier is not None and event.site == earlier.site:
                later = later or event
            elif isinstance(event, ZeroGrad) and event.index > clip.index:
                return None
            elif isinstance(event, Stepped) and event.index > clip.index:
                again = later is not None and not self.trace.same_iteration(clip, later)
                clipped = any(other.site == clip.site for other in self.trace.between(clip, event, Clipped))
                return Misplaced(clip, BETWEEN, earlier, event) if again and clipped and earlier is not None else None
        return None

    def _rarer(self, clip: Clipped, event: Event) -> bool:
        """Whether the event happens only every k-th time that the clipping does."""
        here = event.guards - clip.guards
        return any(self.trace.branches[branch].kind.value == "periodic" for branch, _ in here)

    def _last_backward(self, clip: Clipped, events: Iterable[Event], step: Stepped) -> Backward | None:
        found = [event for event in events if isinstance(event, Backward) and not self._not_here(event)]
        return next(
            (each for each in reversed(found) if self.meets(clip, each) and self.trace.together(each, step)), None
        )

    def _may_step(self, clip: Clipped, event: Event) -> bool:
        if isinstance(event, Escaped):
            return bool(event.optimizers)
        return isinstance(event, GaveUp) or (isinstance(event, Stepped) and self.may_meet(clip, event))

    def _may_go_backward(self, clip: Clipped, event: Event) -> bool:
        if isinstance(event, Escaped):
            return bool(event.optimizers or event.forwards)
        if isinstance(event, Backward):
            return self.may_meet(clip, event) and not self._not_here(event)
        return isinstance(event, GaveUp)

    def _not_here(self, event: Backward | Stepped) -> bool:
        """Whether it fills no `.grad` of a parameter."""
        return isinstance(event, Backward) and event not in self.gradients.filling
