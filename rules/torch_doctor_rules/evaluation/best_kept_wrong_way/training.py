"""What is done with the models whose figures are compared: how they are trained, and where they are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace import CheckpointCopied, Forward, Loaded, Saved, StateTaken, Stepped, WeightsGiven
from torch_doctor_rules.judging.family import Family

if TYPE_CHECKING:
    from torch_doctor.trace import BestCompared, Event, Trace


def of_rivals(trace: Trace, event: BestCompared) -> bool:
    """Return whether models with an optimizer each computed the figure: what is worse for one may be better for another."""
    modules = {each.module for each in trace.at(*event.forwards) if isinstance(each, Forward)}
    family = trace.view(Family)
    steps = [step.modules for step in trace.of(Stepped)]
    sides = {tuple(family.related(each, (module,)) for module in sorted(modules)) for each in steps}
    return sum(sum(side) == 1 for side in sides) > 1


def trains(trace: Trace, event: BestCompared) -> bool:
    """Return whether the innermost loop around the comparison trains."""
    around = event.scope.iterations()
    return bool(around) and any(
        each.loop == around[-1].loop for step in trace.of(Stepped) for each in step.scope.iterations()
    )


def keeps(trace: Trace, event: BestCompared) -> bool:
    """Return whether a model is saved or copied where a figure is kept, or its weights are loaded for what is assigned there.

    What is saved for its own sake, such as a batch or a picture, is no model.
    """
    loaded = {each.site for each in trace.of(Loaded)}
    saved = {each.index: each for each in trace.of(Saved) if each.modules or each.states}
    kept: list[Event] = [
        *trace.of(StateTaken),
        *saved.values(),
        *(each for each in trace.of(CheckpointCopied) if each.saves & saved.keys()),
        *(each for each in trace.of(WeightsGiven) if each.of and each.site not in loaded),
    ]
    return event.loads or any(_is_in(event, each) for each in kept)


def _is_in(compared: BestCompared, event: Event) -> bool:
    """Return whether an event belongs to what is executed where a figure is kept, or to a function that is called there."""
    places = [event.site, *(scope.called_at for scope in event.scope.chain() if scope.called_at is not None)]
    return any(
        arm.path == place.path and arm.cell == place.cell and arm.row <= place.row <= arm.end_row
        for arm in compared.arm
        for place in places
    )
