"""Gradient clipping: its place between the backward passes that fill gradients and the steps that apply them."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from torch_doctor.trace import Backward, Clipped, Escaped, GaveUp, OptimizerBuilt, ScopeKind, Stepped, ZeroGrad
from torch_doctor_rules.judging.cadence import Cadence
from torch_doctor_rules.judging.gradients import Gradients, fills

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeGuard

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
        self.cadence = trace.view(Cadence)
        self.clips = [event for event in trace.of(Clipped) if not event.manual]
        self._owned = {event.optimizer: event.modules for event in trace.of(OptimizerBuilt)}
        self._single = len({step.optimizer for step in trace.of(Stepped)}) == 1

    def misplaced(self) -> Iterator[Misplaced]:
        """The clippings that surely miss the gradients that are applied."""
        for clip in self.clips:
            found = self._beside(clip) or self._between(clip)
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
        around = [
            event for event in events if self.may_meet(clip, event) and (isinstance(event, Stepped) or fills(event))
        ]
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

    def _beside(self, clip: Clipped) -> Misplaced | None:
        """Where the gradients of the pass come only after the clipping, or a step has applied them before."""
        around = [
            event
            for event in self._near(clip, Backward, Stepped, Escaped, GaveUp)
            if self._may_step(clip, event) or self._may_go_backward(clip, event)
        ]
        before = [event for event in around if event.index < clip.index]
        after = [event for event in around if event.index > clip.index]
        filled = [event for event in before if self._may_go_backward(clip, event)]
        step = before[-1] if before else None
        if step is not None and self._steps(step, clip) and not any(self._may_step(clip, event) for event in after):
            passes = [event for event in filled if self._fills(event, clip) and self.trace.together(event, step)]
            return Misplaced(clip, AFTER, passes[-1], step) if passes else None
        step = next((event for event in after if not self._fills(event, clip)), None)
        if filled or step is None or not self._steps(step, clip) or self._pass(clip) is None:
            return None
        passes = [event for event in after if self._fills(event, clip) and event.index < step.index]
        others = self.trace.between(passes[0], step, Clipped) if passes else ()
        again = any(self.may_meet(clip, each) and self.trace.together(clip, each) for each in others)
        return Misplaced(clip, BEFORE, passes[0], step) if passes and not again else None

    def _between(self, clip: Clipped) -> Misplaced | None:
        """Where every micro-batch clips what was added up so far, and only every k-th applies it."""
        for window in self.cadence.windows():
            step = window.step
            before = [each for each in window.passes if each.index < clip.index]
            if before and clip.index < step.index and self._steps(step, clip) and self.trace.together(clip, step):
                if self.trace.observed:
                    again = (other.site == clip.site for other in self.trace.between(clip, step, Clipped))
                    late = len(before) < len(window.passes) and any(again)
                else:
                    batch = before[-1].scope.iterations()[-1]
                    asked = [self.trace.branches[number] for number, _ in step.guards - clip.guards]
                    late = batch in clip.scope.iterations() and any(each.test is not None for each in asked)
                if late and self._fills(before[-1], clip):
                    return Misplaced(clip, BETWEEN, before[-1], step)
        return None

    def _steps(self, event: Event, clip: Clipped) -> TypeGuard[Stepped]:
        """Whether an optimizer surely applies the same gradients."""
        return isinstance(event, Stepped) and not event.manual and self.meets(clip, event)

    def _fills(self, event: Event, clip: Clipped) -> TypeGuard[Backward]:
        """Whether the same gradients are surely computed."""
        return isinstance(event, Backward) and fills(event) and self.meets(clip, event)

    def _may_step(self, clip: Clipped, event: Event) -> bool:
        if isinstance(event, Escaped):
            return bool(event.optimizers)
        return isinstance(event, GaveUp) or (isinstance(event, Stepped) and self.may_meet(clip, event))

    def _may_go_backward(self, clip: Clipped, event: Event) -> bool:
        if isinstance(event, Escaped):
            return bool(event.optimizers or event.forwards)
        if isinstance(event, Backward):
            return fills(event) and self.may_meet(clip, event)
        return isinstance(event, GaveUp)
