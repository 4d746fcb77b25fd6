"""Parameters that are trained and that no optimizer has."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from torch_doctor.trace import (
    Backward,
    Escaped,
    Forward,
    FrozenStepped,
    GaveUp,
    LossCalled,
    ModuleBuilt,
    Normalised,
    OptimizerBuilt,
    ParameterCut,
    ParameterSeen,
    Registered,
    Saved,
    StateTaken,
    Stepped,
    WeightsDrawn,
    WeightsGiven,
    ZeroGrad,
)
from torch_doctor_rules.judging.family import Family
from torch_doctor_rules.judging.gradients import Gradients
from torch_doctor_rules.judging.joining import joined_later

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Event, Scope, Site, Trace


class Missed(Struct, frozen=True):
    """An optimizer, and where something trained that it does not have is put to use, or built where it has a `part` beside it."""

    built: OptimizerBuilt
    site: Site
    part: str = ""


class Fresh(NamedTuple):
    """A part of which a run tells that it has the weights that it was built with."""

    module: int
    site: Site
    class_name: str


def missing(trace: Trace) -> Iterator[Missed]:
    """The optimizers that step beside something trained that no optimizer has."""
    steps = trace.of(Stepped)
    gradients = trace.view(Gradients)
    perhaps = {event.child for event in trace.of(Registered) if trace.asked(event)}
    frozen = {event.optimizer for event in trace.of(FrozenStepped) if event.frozen}  # TDR119 says so
    for built in trace.of(OptimizerBuilt):
        own = [step for step in steps if step.optimizer == built.optimizer and step.scope.iterations()]
        known = built.whole and built.modules
        if not own or not known or _may_escape(gradients, built, own[-1]):
            continue
        if trace.observed and _may_be_plain(trace, built):
            continue
        phase = Phase(gradients, own)
        left = phase.left - perhaps - _handed_in(trace, built, own[0])
        if phase.unknown or not left:
            continue
        site = joined_later(gradients, built, left)
        if site is None and built.optimizer in frozen:
            continue
        site = site or _of_another(gradients, built, left, phase)
        if site is not None:
            yield Missed(built, site)
        elif (part := _forgotten(gradients, built, left, own[0])) is not None:
            yield Missed(built, part.site, part.class_name)


def _may_be_plain(trace: Trace, built: OptimizerBuilt) -> bool:
    """Whether all that an optimizer has may be tensors that require no gradients, as far as the run came."""
    seen = [each for each in trace.of(ParameterSeen) if each.optimizer == built.optimizer]
    known = not built.modules.isdisjoint(event.module for event in trace.of(ModuleBuilt))
    return all(each.still == "frozen" and not each.owner_class for each in seen) and not known


def _handed_in(trace: Trace, built: OptimizerBuilt, step: Stepped) -> frozenset[int]:
    """What callers out of sight hand to a function that steps an optimizer of the file's top level: it may be the same."""
    before = _outermost(built)
    if not trace.begins_outside or before is _outermost(step):
        return frozenset()
    known = {event.module for event in trace.of(ModuleBuilt) if _outermost(event) is before}
    known |= trace.view(Family).within(known | built.modules)
    made = {event.module for event in trace.of(Forward)} - known
    return trace.view(Family).within(made)


def _outermost(event: Event) -> Scope:
    """The scope in which all of its run lies: what the top level did before has another one."""
    return event.scope.chain()[0]


def _forgotten(
    gradients: Gradients, built: OptimizerBuilt, left: frozenset[int], step: Stepped
) -> WeightsDrawn | Fresh | None:
    """A part that is trained with what the optimizer has, was built after some of it, and stays as its constructor drew it.

    What was built before is perhaps left as it is on purpose, under a new head: of that, a run tells that nobody gave it
    weights, and the source that it is part of one model with what the optimizer has.
    """
    trace = gradients.trace
    beside = [
        event.modules
        for event in gradients.filling
        if event.whole and event.modules & built.modules and trace.common_loop(event, step) is not None
    ]
    seen = [each for each in trace.of(ParameterSeen) if each.optimizer == built.optimizer and each.owner_class]
    if not beside or (trace.observed and not seen):  # it fits inputs, as for the transfer of a style
        return None
    if not all(other.whole for other in trace.of(OptimizerBuilt)):
        return None
    last = max(event.index for event in gradients.filling)
    given = [event for event in trace.of(WeightsGiven) if event.index < last and not event.anew]
    if not all(event.whole for event in given):
        return None
    escaped = [event.modules for event in trace.of(Escaped) if event.index < last]
    taken = [other.modules for other in trace.of(OptimizerBuilt)]
    taken.append(frozenset(event.parameter for event in trace.of(ParameterCut)))  # trained in one arm of a setting
    cleared = [event.modules for event in trace.of(ZeroGrad) if trace.observed and not event.modules & built.modules]
    excused = frozenset[int]().union(*(event.modules for event in given), *escaped, *taken, *cleared)
    known = _perhaps_known(trace, built)
    for part in _drawn(trace):
        number = part.module
        together = isinstance(part, WeightsDrawn) and part.beside & built.modules and not part.beside & known
        if number in left - excused and any(
            number in modules and (trace.observed or together or number > min(modules & built.modules))
            for modules in beside
        ):
            return part
    return None


def _perhaps_known(trace: Trace, built: OptimizerBuilt) -> frozenset[int]:
    """What the script may leave as it is on purpose: it draws weights anew, copies states, or clears gradients by itself.

    Of a function that nobody calls, the caller may have done that with anything. What a softmax over one number gets has no
    gradient, whichever part of a model computes it.
    """
    if trace.begins_outside or any(event.size == 1 and event.in_model for event in trace.of(Normalised)):
        return trace.view(Family).within(event.module for event in trace.of(ModuleBuilt)) | built.modules
    drawn = (event.modules for event in trace.of(WeightsGiven) if event.anew)
    kept = frozenset[int]().union(*(saved.states for saved in trace.of(Saved)))
    states = (event.module for event in trace.of(StateTaken) if event.index not in kept)
    cleared = (event.modules for event in trace.of(ZeroGrad) if not event.modules & built.modules)
    return frozenset[int]().union(*drawn, *cleared, trace.view(Family).within(states))


def _drawn(trace: Trace) -> Iterator[WeightsDrawn | Fresh]:
    """The parts that are trained with the weights that they were built with.

    Of a model that an optimizer has a part of, those that are of another class than all of that are left out on purpose.
    """
    yield from trace.of(WeightsDrawn)
    if trace.run is None or trace.run.voids("weights") is not None:
        return
    seen = trace.of(ParameterSeen)
    taken = {(each.module, each.owner_class) for each in seen if each.optimizer}
    parted = {module for module, _ in taken}
    for each in seen:
        if each.fresh and (each.module not in parted or (each.module, each.owner_class) in taken):
            yield Fresh(each.owner, each.site, each.owner_class)


def _outermost_loop(event: Event) -> int:
    """The run of the outermost loop that an event lies in, 0 outside of all."""
    around = event.scope.iterations()
    return around[0].loop if around else 0


def _by_loop(trace: Trace) -> dict[int, list[Stepped | ZeroGrad]]:
    """The steps and clears in each run of an outermost loop."""
    found: dict[int, list[Stepped | ZeroGrad]] = defaultdict(list)
    events: list[Stepped | ZeroGrad] = [*trace.of(Stepped), *trace.of(ZeroGrad)]
    for event in events:
        found[_outermost_loop(event)].append(event)
    return found


class Phase:
    """The loops in which an optimizer steps: what is trained in them, and what anyone moves there."""

    def __init__(self, gradients: Gradients, own: list[Stepped]) -> None:
        trace = gradients.trace
        self.step = own[0]
        loops = {_outermost_loop(step) for step in own}
        around = [event for loop in loops for event in trace.view(_by_loop).get(loop, ())]
        self.filling = [event for event in gradients.filling if _outermost_loop(event) in loops]
        steps = [event for event in around if isinstance(event, Stepped)]
        clearing = [event for event in around if isinstance(event, ZeroGrad)]
        self.unknown = not all(step.whole for step in steps) or any(
            not each.whole and not each.target for each in clearing
        )
        moved = frozenset[int]().union(*(step.modules for step in steps))
        others = trace.of(OptimizerBuilt)
        if trace.begins_outside:  # other functions of the same objects step the others
            moved = moved.union(*(built.modules for built in others))
        elif _broke_off(trace):  # those that were there already would have stepped
            moved = moved.union(*(built.modules for built in others if built.index < self.step.index))
        trained = (event.modules for event in self.filling if event.loss.graph_forwards)
        self.left = frozenset[int]().union(*trained) - moved


def _broke_off(trace: Trace) -> bool:
    """Whether this is a run that ended before its script did."""
    return trace.observed and (trace.run is None or trace.run.end.how not in ("end", "exit"))


def _of_another(gradients: Gradients, built: OptimizerBuilt, left: frozenset[int], phase: Phase) -> Site | None:
    """Where a model is trained beside the steps of an optimizer nothing of which gets a gradient there."""
    filling = phase.filling
    if not all(event.whole and event.modules for event in filling):
        return None
    if any(
        gradients.may_concern(event, built.modules)
        or _has_unknown_parts(gradients.trace, event)
        or _may_be_given_back(gradients.trace, event, built)
        for event in filling
    ):
        return None
    beside = (
        event
        for event in filling
        if event.modules <= left and gradients.trace.common_loop(event, phase.step) is not None
    )
    first = next(beside, None)
    return None if first is None else _called(gradients.trace, first)


def _has_unknown_parts(trace: Trace, backward: Backward) -> bool:
    """Whether something in the loss is computed by who knows what, which may be a part of what the optimizer has."""
    behind = trace.at(*sorted(backward.loss.graph_forwards))
    return any(isinstance(event, Forward) and event.named for event in behind) or any(
        event.input.graph is None and not event.input.forwards and trace.same_iteration(event, backward)
        for event in trace.of(LossCalled)
    )


def _may_be_given_back(trace: Trace, backward: Backward, built: OptimizerBuilt) -> bool:
    """Whether something in the loss that nobody knows may be what code out of sight made of the optimizer's modules."""
    got = [event.index for event in trace.of(Escaped) if event.modules & built.modules]
    behind = trace.at(*sorted(backward.loss.graph_forwards))
    return any(
        isinstance(event, Forward) and not event.class_name and any(index < event.index for index in got)
        for event in behind
    )


def _called(trace: Trace, backward: Backward) -> Site:
    """Where the model behind a loss is called."""
    forwards = [event for event in trace.at(*sorted(backward.loss.graph_forwards)) if isinstance(event, Forward)]
    return forwards[0].site if forwards else backward.site


def _may_escape(gradients: Gradients, built: OptimizerBuilt, last: Stepped) -> bool:
    """Whether the optimizer, or what it has, escapes before its last step to code that may change it."""
    between = gradients.trace.between(built, last, Escaped, GaveUp)
    return any(gradients.may_have_touched(event, built.modules) for event in between)
