"""How the models are trained whose figures are compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace import Forward, Stepped
from torch_doctor_rules.judging.family import Family

if TYPE_CHECKING:
    from torch_doctor.trace import BestCompared, Trace


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
