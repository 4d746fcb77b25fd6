"""Averages of weights that are written into the model that trains, and what comes after."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from torch_doctor.trace import (
    AverageGiven,
    AverageKept,
    BranchKind,
    Escaped,
    Forward,
    GaveUp,
    ScopeKind,
    Stepped,
    WeightsAveraged,
    WeightsGiven,
)
from torch_doctor_rules.judging.passes import Passes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Event, Scope, Site, Trace

_LASTING = frozenset((BranchKind.FLAG, BranchKind.PERIODIC, BranchKind.VERSION))
"""Tests that are passed again while training goes on, if they are passed once."""


class KeptAverage(NamedTuple):
    """An average that the model is evaluated with, and that training goes on from."""

    given: AverageGiven | AverageKept
    """Where it is written into the model."""
    site: Site
    """The place of the swap: the call, if a function does it."""
    evaluation: Forward
    """The first call that evaluates it."""
    training: Forward | None
    """The first call that trains it; None where the run does not say."""


class WeightAverages:
    """The averages of one trace that are written into models."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._passes = trace.view(Passes)
        self._related = self._passes.family.related

    def kept(self) -> Iterator[KeptAverage]:
        """Yield what is evaluated as an average and then trained on."""
        for seen in self._trace.of(AverageKept):
            forward = next((each for each in self._trace.at(seen.forward) if isinstance(each, Forward)), None)
            if seen.kept and forward is not None:
                yield KeptAverage(seen, seen.site, forward, None)
        for given in self._trace.of(AverageGiven):
            evaluation = self._evaluation(given) if self._swaps(given) else None
            training = self._training(given, evaluation) if evaluation is not None else None
            if evaluation is not None and training is not None:
                yield KeptAverage(given, _called(given, evaluation), evaluation, training)

    def _swaps(self, given: AverageGiven) -> bool:
        """Whether the average is of the model's own weights, is updated with its steps, and is written less often."""
        if not self._related(given.of, given.modules):
            return False
        steps = [step for step in self._trace.of(Stepped) if self._related(step.modules, given.modules)]
        around = {site for step in steps for site in _loops(step)}
        loops = {scope.site for step in steps for scope in step.scope.iterations()[-1:]}
        updates = [
            each
            for each in self._trace.of(WeightsAveraged)
            if self._related(each.of, given.modules) and not loops.isdisjoint(_loops(each))
        ]
        return (
            bool(updates)
            and not any(self._related(each.into, given.modules) for each in updates)
            and all(self._rarer(given, each, loops, around) for each in updates)
            and self._comes_again(given, updates, around)
        )

    def _rarer(self, given: AverageGiven, update: WeightsAveraged, loops: set[Site], around: set[Site]) -> bool:
        """Whether the average is written after several of its updates: not where slow weights pull the fast ones along."""
        return (
            loops.isdisjoint(_loops(given))
            or not self._tests(given, around).keys() <= self._tests(update, around).keys()
        )

    def _comes_again(self, given: AverageGiven, updates: list[WeightsAveraged], around: set[Site]) -> bool:
        """Whether no test that may hold at the end of training alone decides about it."""
        shared = {site for each in updates for site in self._tests(each, around)}
        return all(kind in _LASTING or site in shared for site, kind in self._tests(given, around).items())

    def _tests(self, event: AverageGiven | WeightsAveraged, around: set[Site]) -> dict[Site, BranchKind]:
        """The tests that decide about a write: not those that each parameter has to pass, in a loop without steps."""
        inner = event.scope.iterations()[-1:]
        each = inner[0].site if inner and inner[0].site not in around else None
        found = (self._trace.branches[branch] for branch, _ in event.guards)
        return {
            test.site: test.kind
            for test in found
            if each is None or test.site.path != each.path or not each.row < test.site.row <= event.site.row
        }

    def _evaluation(self, given: AverageGiven) -> Forward | None:
        """The first call after it, which evaluates the model before anything trains it."""
        for forward in self._trace.of(Forward):
            if forward.index > given.index and self._related((forward.module,), given.modules):
                evaluates = forward.grad is False and not self._passes.goes_backward(forward)
                same = self._trace.same_iteration(given, forward) and self._trace.together(given, forward)
                return forward if evaluates and same and self._trace.implies(given, forward) else None
        return None

    def _training(self, given: AverageGiven, evaluation: Forward) -> Forward | None:
        """The next call that trains the model, in a later pass of a loop, if nothing gives it other weights before."""
        for forward in self._trace.of(Forward):
            if (
                forward.index > evaluation.index
                and self._related((forward.module,), given.modules)
                and self._passes.trains(forward)
                and self._trace.together(given, forward)
            ):
                again = self._trace.common_loop(given, forward) and not self._trace.same_iteration(given, forward)
                return forward if again and not self._other(given, evaluation, forward) else None
        return None

    def _other(self, given: AverageGiven, evaluation: Forward, training: Forward) -> bool:
        """Whether anything else may set the weights before they are trained on, or anything sets them in the passes that train."""
        loop = training.scope.iterations()[-1:]
        for each in self._trace.of(WeightsGiven):
            between = given.index < each.index < training.index
            inside = bool(loop) and any(scope.loop == loop[0].loop for scope in each.scope.iterations())
            own = each.site == given.site and each.index < evaluation.index
            own = own or (each.site == given.site and not between)
            if not own and (between or inside) and (not each.whole or self._related(each.modules, given.modules)):
                return True
        unseen: list[Event] = [*self._trace.of(Escaped), *self._trace.of(GaveUp)]
        return any(
            given.index < each.index < training.index
            and (isinstance(each, GaveUp) or self._related(getattr(each, "modules", ()), given.modules))
            for each in unseen
        )


def _loops(event: Event) -> set[Site]:
    """The loops around an event."""
    return {scope.site for scope in event.scope.iterations()}


def _called(given: AverageGiven, evaluation: Forward) -> Site:
    """The call that swaps, seen from where the evaluation is called as well; the write itself where they are in one function."""
    around: set[Scope] = set(evaluation.scope.chain())
    inner = [scope for scope in given.scope.chain() if scope not in around and scope.kind is ScopeKind.CALL]
    called = inner[0].called_at if inner else None
    return called if called is not None else given.site
