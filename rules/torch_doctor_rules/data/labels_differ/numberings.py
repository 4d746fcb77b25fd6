"""How the classes of training and evaluation are numbered, and by which numbers predictions are compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from torch_doctor.trace import Forward, LabelsCompared, PreparerBuilt
from torch_doctor_rules.judging.comparison import pairs
from torch_doctor_rules.judging.loaders import Loaders
from torch_doctor_rules.judging.split_parts import whole

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import DatasetBuilt, LoaderBuilt, Site, Trace


class Numbering(NamedTuple):
    """A loader that evaluates and one that trains, with what numbers the classes of their samples."""

    evaluated: LoaderBuilt
    trained: LoaderBuilt
    theirs: PreparerBuilt
    ours: PreparerBuilt


def numberings(trace: Trace) -> Iterator[Numbering]:
    """The pairs of loaders whose classes were numbered each by itself."""
    for evaluated, _, trained, _ in pairs(trace):
        both = [whole(trace, each) for each in (evaluated, trained)]
        theirs, ours = (_ways(trace, each) for each in both)
        if len(theirs) == len(ours) == 1 and theirs.keys() != ours.keys():
            yield Numbering(evaluated, trained, *theirs.values(), *ours.values())


def _ways(trace: Trace, dataset: DatasetBuilt | None) -> dict[str, PreparerBuilt]:
    """What numbers the classes of a dataset, by its result: the passes of a loop over its rows are one."""
    events = [*trace.at(*sorted(dataset.classes))] if dataset is not None else []
    return {event.how: event for event in reversed(events) if isinstance(event, PreparerBuilt)}


def compared_names(trace: Trace) -> Iterator[tuple[LabelsCompared, LoaderBuilt, PreparerBuilt]]:
    """The comparisons with the numbers in names, where the same model is trained on numbers by sorted names."""
    for compared in trace.of(LabelsCompared):
        modules = {each.module for each in trace.at(compared.forward) if isinstance(each, Forward)}
        for loader, backward in trace.view(Loaders).training():
            dataset = whole(trace, loader)
            fed = {each.module for each in trace.at(*sorted(backward.forwards)) if isinstance(each, Forward)}
            for event in trace.at(*sorted(dataset.classes)) if dataset is not None and modules & fed else ():
                if isinstance(event, PreparerBuilt) and event.how == f"text of {compared.how}":
                    yield compared, loader, event


def place(one: PreparerBuilt, other: PreparerBuilt) -> Site:
    """Where classes are numbered; where both are numbered at one place, the call that leads there."""
    if one.site != other.site:
        return one.site
    calls = zip(one.scope.calls(), other.scope.calls(), strict=False)
    return next((site for site, another in calls if site != another), one.site)


def differences(trace: Trace, evaluated: LoaderBuilt, trained: LoaderBuilt) -> int | None:
    """How many classes have other numbers in the maps of both datasets; None where one has no map."""
    both = [whole(trace, each) for each in (evaluated, trained)]
    theirs, ours = (dict(each.numbers) if each else {} for each in both)
    common = theirs.keys() & ours.keys()
    return sum(theirs[name] != ours[name] for name in common) if common else None
