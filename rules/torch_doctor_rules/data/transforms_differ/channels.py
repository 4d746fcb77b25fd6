"""Which of the channels of pictures comes first in training and in evaluation, as their means tell in a run."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from torch_doctor.rule import same_place
from torch_doctor.trace import BatchMeasured
from torch_doctor_rules.data.transforms_differ.scaling import statistics
from torch_doctor_rules.judging.loaders import Loaders

if TYPE_CHECKING:
    from torch_doctor.rule import Finding
    from torch_doctor.trace import LoaderBuilt, Site, Trace
    from torch_doctor.trace.words import Tri

_CLEAR = 0.2
"""So many deviations are the means of channels apart that tell something."""
_NEARER = 0.5
"""The part of the distance to the other order up to which an order is the nearer one."""


def turned(trace: Trace, evaluated: LoaderBuilt, trained: LoaderBuilt) -> Tri:
    """Whether the channels of one loader come in the order of the other, turned round; None where their means do not tell."""
    theirs, ours = means(trace, evaluated), means(trace, trained)
    if not theirs or not ours:
        return None
    as_they_are, as_turned = math.dist(theirs, ours), math.dist(theirs[::-1], ours)
    spread = max(event.std for event in trace.of(BatchMeasured) if event.loader in (evaluated.loader, trained.loader))
    if max(as_they_are, as_turned) <= _CLEAR * spread:
        return None
    if as_turned < _NEARER * as_they_are:
        return True
    return False if as_they_are < _NEARER * as_turned else None


def means(trace: Trace, loader: LoaderBuilt) -> list[float]:
    """The means of the three channels of a loader's batches that were measured; nothing where they have none."""
    found = [event.channels for event in trace.of(BatchMeasured) if event.loader == loader.loader and event.channels]
    return [sum(numbers) / len(numbers) for numbers in zip(*found, strict=True)]


def told(trace: Trace, evaluated: LoaderBuilt, trained: LoaderBuilt) -> str:
    """The means of the channels of both in words; "" where they were not measured."""
    theirs, ours = means(trace, evaluated), means(trace, trained)
    if not theirs or not ours:
        return ""
    text = "the channel means are {:.3g}, {:.3g} and {:.3g} in training, {:.3g}, {:.3g} and {:.3g} in evaluation"
    return text.format(*ours, *theirs)


def both(trace: Trace, finding: Finding) -> tuple[LoaderBuilt | None, LoaderBuilt | None]:
    """The loader that evaluates and the one that trains, whose batches were measured in a run."""
    loaders = trace.view(Loaders)
    sites: list[Site] = [step.site for step in finding.trail[:2]] or [finding.site]
    evaluated = [each for each, _ in loaders.never_training() if same_place(sites[0], each.site)]
    trained = [each for each, _ in loaders.training() if len(sites) == 1 or same_place(sites[1], each.site)]
    theirs, ours = ([each for each in some if statistics(trace, each)] for some in (evaluated, trained))
    return next(iter(theirs), None), next(iter(ours), None)
