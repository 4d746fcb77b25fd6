"""Gradients that are added up over several micro-batches before one step applies them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from torch_doctor.edits import Divide
from torch_doctor.trace import Backward, BranchKind, LoopEntered, Stepped, ZeroGrad
from torch_doctor_rules.judging.gradients import Gradients

if TYPE_CHECKING:
    from torch_doctor.trace import Event, Scope, Trace


class Window(Struct, frozen=True):
    """Several backward passes of one line, in iterations that follow each other, and the step that applies their sum.

    `length` is how many there are, 0 where it is not known.
    """

    backward: Backward
    step: Stepped
    length: int = 0


class Accumulation:
    """The windows of one trace: which lines add up gradients, and what is done to them before the step."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.gradients = trace.view(Gradients)

    def windows(self) -> list[Window]:
        """Every window that surely adds up the gradients of several micro-batches."""
        if self.trace.observed:
            return [found for step in self.trace.of(Stepped) if (found := self._seen(step)) is not None]
        return [found for backward in self.gradients.filling if (found := self._planned(backward)) is not None]

    def divided(self, window: Window) -> list[Divide]:
        """The loss divided by the number of passes of which the last one steps, where one test counts them."""
        branches = [self.trace.branches[branch] for branch, _ in window.step.guards - window.backward.guards]
        sites = {branch.site for branch in branches if branch.kind is BranchKind.PERIODIC}
        return [Divide(window.backward.site, sites.pop())] if len(sites) == 1 else []

    def _planned(self, backward: Backward) -> Window | None:
        """As the source shows it: every iteration goes backward, and every k-th of them steps and clears."""
        trace = self.trace
        if not backward.scope.iterations() or self._periodic(backward, frozenset()):
            return None
        batch = backward.scope.iterations()[-1]
        inside = [event for event in trace.of(Stepped) if batch in event.scope.iterations()]
        steps = [event for event in inside if self.gradients.shared(event, backward)]
        others: list[Stepped | ZeroGrad] = [event for event in inside if event not in steps]
        others += [event for event in trace.of(ZeroGrad) if batch in event.scope.iterations()]
        rare = [step for step in steps if step.index > backward.index and self._periodic(step, backward.guards)]
        clears = [event for event in others if self.gradients.may_concern(event, backward.modules)]
        if not rare or rare != steps or not all(self._periodic(event, backward.guards) for event in clears):
            return None
        return Window(backward, rare[0])

    def _periodic(self, event: Event, guards: frozenset[tuple[int, bool]]) -> bool:
        """Whether the event happens only every k-th time, beside what these guards say."""
        batch = event.scope.iterations()[-1]
        turns = {each.turn for each in self.trace.of(LoopEntered) if batch.loop in (each.loop, each.before)}
        for number, _ in event.guards - guards:
            branch = self.trace.branches[number]
            if branch.kind is BranchKind.PERIODIC:
                passes = {each.of for each in branch.test.within() if each.op == "pass"} if branch.test else set()
                if not passes or passes & turns or 0 in passes:
                    return True
        return False

    def _seen(self, step: Stepped) -> Window | None:
        """As a run shows it: one line went backward in several iterations since the gradients were last cleared."""
        passes: list[Backward] = []
        batches: set[Scope] = set()
        for event in reversed(self.trace.before(step)):
            if not isinstance(event, (Backward, Stepped, ZeroGrad)) or not event.modules & step.modules:
                continue
            if not isinstance(event, Backward):
                break
            if passes and event.site != passes[0].site:
                return None
            passes.append(event)
            batches.update(event.scope.iterations()[-1:])
        return Window(passes[0], step, len(passes)) if 1 < len(passes) == len(batches) else None
