"""The protocol of gradient scalers: scale, backward, unscale, clip, step, update."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from torch_doctor.trace import (
    Backward,
    BranchKind,
    Clipped,
    Escaped,
    Event,
    GaveUp,
    LoopKind,
    NotCalled,
    ScalerBuilt,
    ScalerUpdated,
    Stepped,
    Unscaled,
)
from torch_doctor_rules.judging.clipping import Clipping
from torch_doctor_rules.judging.evidence import at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Site, Trace

CLIPPED, BESIDE, NEVER_UPDATED, UNSCALED = "clipped while scaled", "stepped beside", "never updated", "not scaled"
TWICE, NEVER_SCALED = "since the last update()", "_scale is None"
"""What torch says of a second step without an update, and of a step without any loss that was scaled."""


class Broken(Struct, frozen=True):
    """A call that breaks the protocol, `how`, with the backward pass and the step that it concerns."""

    event: Event
    how: str
    backward: Backward
    step: Stepped


class Scaling:
    """The gradient scalers of one trace, and what is done beside them."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.clipping = trace.view(Clipping)
        self._off = {event.scaler for event in trace.of(ScalerBuilt) if event.enabled is False}
        self._perhaps_off = self._off | {event.scaler for event in trace.of(ScalerBuilt) if event.unseen}
        in_sight = {event.scaler for event in trace.of(ScalerBuilt)} - self._perhaps_off
        self.steps = [
            step
            for step in trace.of(Stepped)  # by a scaler that was not built in sight: it may be any of those that were
            if step.scaled and (step.scaler in in_sight or not self._perhaps_off)
        ]
        self._on = {event.scaler for event in trace.of(ScalerBuilt) if event.enabled is True}
        self._filling = self.clipping.gradients.filling

    @property
    def off(self) -> bool:
        """Whether there are scalers, and all of them are switched off."""
        return bool(self._off) and not self.steps

    def broken(self) -> Iterator[Broken]:
        """The calls that surely break the protocol."""
        for clip in self.clipping.clips:
            for step in self.steps:
                backward = self._scaled_at(clip, step)
                if backward is not None and not self._may_be_unscaled(backward, clip, step):
                    yield Broken(clip, CLIPPED, backward, step)
                    break
        for step in self.trace.of(Stepped):
            backward = self._filled(step)
            if backward is not None and not step.scaled and not step.manual and backward.scaled and not self._all_off:
                if self._surely_meet(backward, step, on=bool(self._on)) and not self._may_be_unscaled(
                    backward, step, step
                ):
                    yield Broken(step, BESIDE, backward, step)
            elif backward is not None and step in self.steps:
                yield from self._of_step(step, backward)
        yield from self._refused()

    def _filled(self, step: Stepped) -> Backward | None:
        """The backward pass whose gradients the step applies, in the same pass of their loop."""
        for backward in reversed(self._filling):
            if backward.index < step.index and self.trace.together(backward, step):
                same = self.trace.same_iteration(backward, step)
                return backward if same and self.clipping.meets(step, backward) else None
        return None

    def in_order(self, site: Site) -> list[bool]:
        """For each call at a place that a scaler's step or update follows: whether it keeps to the protocol."""
        wrong = {found.event.index for found in self.broken()}
        found: list[bool] = []
        for event in (*at(self.trace, site, Clipped), *at(self.trace, site, Backward)):
            if any(step.index > event.index for step in self.steps):
                right = event.scaled is True if isinstance(event, Backward) else event.index not in wrong
                found.append(right)
        decided = (
            step
            for step in at(self.trace, site, Stepped)
            if not step.scaled or step.index in wrong or self._updated(step)
        )
        return [*found, *(step.index not in wrong for step in decided)]

    def _scaled_at(self, clip: Clipped, step: Stepped) -> Backward | None:
        """The backward pass whose scaled gradients are clipped before the step applies them; None where it is not so."""
        trace = self.trace
        if clip.managed or step.index < clip.index or not self.clipping.meets(clip, step):
            return None
        before = [each for each in self._filling if each.index < clip.index and trace.together(each, clip)]
        alike = trace.together(clip, step) and trace.same_iteration(clip, step)
        if not before or not alike or any(trace.between(clip, step, Backward)):
            return None
        last = before[-1]
        scaled = last.scaled is True or (last.scaled is None and not trace.observed)
        near = scaled and trace.together(last, step) and trace.same_iteration(last, clip)
        return last if near and self.clipping.meets(clip, last) else None

    def _updated(self, step: Stepped) -> bool:
        """Whether the scaler may be updated after the step, before it steps the same optimizer again.

        Where it never does in sight, an update that the source shows anywhere may come later.
        """
        again = self._again(step)
        updates = [event for event in self.trace.of(ScalerUpdated) if event.scaler == step.scaler or not event.scaler]
        if again is None:
            return any(event.index > step.index or not self.trace.observed for event in updates)
        return any(step.index < event.index < again.index and self.trace.together(event, step) for event in updates)

    def _again(self, step: Stepped) -> Stepped | None:
        """The next step of the same optimizer by the scaler, on the same path."""
        return next(
            (
                other
                for other in self.steps
                if other.index > step.index
                and (other.optimizer, other.scaler) == (step.optimizer, step.scaler)
                and self.trace.together(other, step)
                and not (step.several and self._in_another_turn(step, other))
            ),
            None,
        )

    def _in_another_turn(self, step: Stepped, other: Stepped) -> bool:
        """Whether two steps lie in different turns of a loop that may go through optimizers, and not through batches."""
        alike = {scope.loop: scope for scope in step.scope.iterations() if scope.loop_kind is not LoopKind.BATCHES}
        return any(alike.get(scope.loop, scope) is not scope for scope in other.scope.iterations())

    @property
    def _all_off(self) -> bool:
        return bool(self._perhaps_off) and len(self._perhaps_off) == len(self.trace.of(ScalerBuilt))

    def _may_be_unscaled(self, backward: Backward, event: Event, step: Stepped) -> bool:
        """Whether the gradients may be unscaled between the backward pass and the event, or changed by hand."""
        for between in self.trace.between(backward, event, Unscaled, Escaped, GaveUp, Clipped):
            if not self.trace.together(between, event):
                continue
            if isinstance(between, Clipped):
                if between.manual and self.clipping.may_meet(between, step):
                    return True
            elif isinstance(between, Unscaled):
                if between.optimizer in (0, step.optimizer) or not step.optimizer:
                    return True
            elif isinstance(between, GaveUp) or (isinstance(between, Escaped) and between.scalers):
                return True
        return False

    def _surely_meet(self, backward: Backward, step: Stepped, *, on: bool) -> bool:
        """Whether a path surely has both, with a scaler that is on: an arm with one of them may be that where it is off."""
        passed, stepped = ({each for each in event.guards if not self._turns(each[0])} for event in (backward, step))
        return passed <= stepped or (on and stepped <= passed)

    def _turns(self, branch: int) -> bool:
        """Whether each arm of a branch has its turn within a few passes."""
        return self.trace.branches[branch].kind is BranchKind.PERIODIC

    def _of_step(self, step: Stepped, backward: Backward) -> Iterator[Broken]:
        certain = backward.scaled is False and backward.whole and backward.through == "backward"
        if certain and backward.loss.graph is True and self._surely_meet(backward, step, on=step.scaler in self._on):
            yield Broken(backward, UNSCALED, backward, step)
        again = self._again(step)
        lost = any(
            isinstance(event, GaveUp)
            or (isinstance(event, NotCalled) and event.method == "update")  # TDR111 says why
            or (isinstance(event, Escaped) and step.scaler in event.scalers)
            for event in (self.trace.events if again is None else self.trace.between(step, again, Event))
        )
        looped = bool(set(step.scope.iterations()) & set(backward.scope.iterations()))
        if not (self.trace.observed or lost or self._updated(step)) and looped:
            yield Broken(step, NEVER_UPDATED, backward, step)

    def _refused(self) -> Iterator[Broken]:
        """What torch refuses when it runs."""
        said = self.trace.run.end.exception if self.trace.run is not None else ""
        if TWICE in said and self.steps and not self._updated(self.steps[-1]):
            backward = self._filled(self.steps[-1])
            if backward is not None:
                yield Broken(self.steps[-1], NEVER_UPDATED, backward, self.steps[-1])
        elif NEVER_SCALED in said and self._filling and not self.steps:
            last = self._filling[-1]
            step = Stepped(site=last.site, scope=last.scope, optimizer=0, name="", modules=last.modules, whole=False)
            yield Broken(last, UNSCALED, last, step)
