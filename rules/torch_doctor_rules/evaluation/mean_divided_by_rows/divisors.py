"""What means are divided by: how a divisor is replaced, and what a run tells of the lengths of loaders."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Wrap
from torch_doctor.rule import Evidence, Finding, Step, same_place
from torch_doctor.trace import BatchTaken, LoaderBuilt, LossCalled
from torch_doctor_rules.judging.evidence import at, count, fact
from torch_doctor_rules.judging.wording import is_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.edits import Edit
    from torch_doctor.trace import Averaged, Scope, Site, Trace

MEANS = ("mean", "batchmean")
COUNTED = "the divisor is the length of this loader"
"""The note of the last step of a trail, which begins with the loader whose batches are summed."""


def divisor(trace: Trace, average: Averaged, batch: Scope, *, rows: bool = False) -> list[Edit]:
    """The divisor replaced by the number of batches, or of rows, where the loader has a name in the function that divides."""
    name = next((event.name for event in trace.of(BatchTaken) if event.scope is batch), "")
    here = batch.parent is not None and [scope.called_at for scope in batch.parent.chain()] == [
        scope.called_at for scope in average.scope.chain()
    ]
    apart = average.by_site != average.site  # within a text, older Pythons know the place of all of it alone
    if not (here and apart and average.by_site and is_path(name)):
        return []
    return [Wrap(average.by_site, f"len({name}.dataset)" if rows else f"len({name})")]


def is_about_lengths(finding: Finding) -> bool:
    """Whether a finding is about the length of another loader."""
    return bool(finding.trail) and finding.trail[-1].note == COUNTED


def pairs(trace: Trace) -> Iterator[tuple[Site, list[Step]]]:
    """The places of loaders of a run that have other numbers of batches, of each one with every other."""
    built = list({event.site: event for event in trace.of(LoaderBuilt) if event.batches}.values())
    for first in built:
        for second in built:
            if first.batches != second.batches:
                yield first.site, [Step(second.site, COUNTED)]


def says_of_both(finding: Finding, seen: Finding) -> bool:
    """Whether the loaders that a finding is about are those that were seen."""
    if not (is_about_lengths(finding) and is_about_lengths(seen)):
        return False
    return same_place(finding.trail[0].site, seen.site) and same_place(finding.trail[-1].site, seen.trail[-1].site)


def are_alike(trace: Trace, finding: Finding) -> bool:
    """Whether both loaders of a finding surely have as many batches in a run."""
    built = [at(trace, finding.trail[place].site, LoaderBuilt) for place in (0, -1)]
    return all(built) and len({event.batches or -event.index for events in built for event in events}) == 1


def lengths(trace: Trace, finding: Finding) -> Iterator[Evidence]:
    """How many batches both loaders have of a finding that is about lengths, or of what was seen of them."""
    if not is_about_lengths(finding):
        return
    first = finding.site if len(finding.trail) == 1 else finding.trail[0].site
    built = (at(trace, site, LoaderBuilt) for site in (first, finding.trail[-1].site))
    for over, other in list(zip(*built, strict=False))[:1]:
        text = f"the loader has {count(over.batches or 0, 'batch', 'batches')}, the other loader {other.batches}"
        yield fact(text, over.batches or 0, "batches", over)


def losses_of(trace: Trace, finding: Finding) -> list[LossCalled]:
    """The losses that were computed where the finding says."""
    return [loss for step in finding.trail[:1] for loss in at(trace, step.site, LossCalled)]


def rows_of(loss: LossCalled) -> int:
    """How many rows a loss in a run was given; 0 where that is not known."""
    first = (loss.input.shape or (0,))[0]
    return first if isinstance(first, int) else 0


def is_no_mean(trace: Trace, finding: Finding) -> bool:
    """Whether the losses of a finding were computed, each as a sum or of one row."""
    losses = losses_of(trace, finding)
    each = (loss.reduction == "sum" or (loss.reduction in MEANS and rows_of(loss) == 1) for loss in losses)
    return bool(losses) and all(each)
