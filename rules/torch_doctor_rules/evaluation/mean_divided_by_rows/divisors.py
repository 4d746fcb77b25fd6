"""What means are divided by: how a divisor is replaced, and what a run tells of the lengths of loaders."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Wrap
from torch_doctor.rule import Evidence, Finding, Step, same_place
from torch_doctor.trace import BatchTaken, LoaderBuilt, LossCalled
from torch_doctor_rules.evaluation.mean_divided_by_rows.by_rows import MEAN, SUM
from torch_doctor_rules.judging.evidence import at, count, fact
from torch_doctor_rules.judging.other_lengths import COUNTED, DRAWN, INDEXED
from torch_doctor_rules.judging.wording import is_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.edits import Edit
    from torch_doctor.trace import Averaged, Scope, Site, Trace

MEANS = ("mean", "batchmean")
REDUCED = {**dict.fromkeys(MEANS, MEAN), "sum": SUM}
"""What is said of a loss of several samples, by its reduction."""
HELP = {
    COUNTED: "divide by the length of the loader that is summed over",
    DRAWN: "divide by the number of samples that the loader draws",
    INDEXED: "divide by the number of batches",
}


def divisor(trace: Trace, average: Averaged, batch: Scope, by: str = "len({})") -> list[Edit]:
    """The divisor replaced by a length that the loader knows, where it has a name in the function that divides."""
    name = next((event.name for event in trace.of(BatchTaken) if event.scope is batch), "")
    here = batch.parent is not None and [scope.called_at for scope in batch.parent.chain()] == [
        scope.called_at for scope in average.scope.chain()
    ]
    apart = average.by_site != average.site  # within a text, older Pythons know the place of all of it alone
    if not (here and apart and average.by_site and is_path(name)):
        return []
    return [Wrap(average.by_site, by.format(name))]


def note_of(finding: Finding) -> str:
    """Return what a finding is about, if that is the length of a loader; "" if it is about means."""
    note = finding.trail[-1].note if finding.trail else ""
    return note if note in HELP else ""


def seen(trace: Trace) -> Iterator[tuple[Site, list[Step]]]:
    """The places of means over batches and of loaders of a run, each with what a finding may say of it.

    These are the loaders with other numbers of batches, those that draw a part of the samples, and all with a known length.
    """
    for loss in trace.of(LossCalled):
        if rows_of(loss) > 1 and loss.reduction in REDUCED:
            yield loss.site, [Step(loss.site, REDUCED[loss.reduction])]
    built = list({event.site: event for event in trace.of(LoaderBuilt) if event.batches}.values())
    for first in built:
        for second in built:
            if first.batches != second.batches:
                yield first.site, [Step(second.site, COUNTED)]
        yield first.site, [Step(first.site, INDEXED)]
        if _draws_part(first):
            yield first.site, [Step(first.site, DRAWN)]


def _draws_part(loader: LoaderBuilt) -> bool:
    return None not in (loader.rows, loader.of) and (loader.rows or 0) < (loader.of or 0)


def says_of_both(finding: Finding, seen: Finding) -> bool:
    """Whether the loaders that a finding is about are those that were seen."""
    if note_of(finding) != note_of(seen):
        return False
    return same_place(finding.trail[0].site, seen.site) and same_place(finding.trail[-1].site, seen.trail[-1].site)


def are_alike(trace: Trace, finding: Finding) -> bool:
    """Whether both loaders of a finding surely have as many batches in a run, or its loader draws all samples."""
    built = [at(trace, finding.trail[place].site, LoaderBuilt) for place in (0, -1)]
    if note_of(finding) == DRAWN:
        return bool(built[0]) and all(event.rows is not None and event.rows == event.of for event in built[0])
    counts = {event.batches or -event.index for events in built for event in events}
    return note_of(finding) == COUNTED and all(built) and len(counts) == 1


def lengths(trace: Trace, finding: Finding) -> Iterator[Evidence]:
    """How many batches both loaders have of a finding that is about lengths, or of what was seen of them."""
    note = note_of(finding)
    if not note:
        return
    first = finding.site if len(finding.trail) == 1 else finding.trail[0].site
    built = (at(trace, site, LoaderBuilt) for site in (first, finding.trail[-1].site))
    for over, other in list(zip(*built, strict=False))[:1]:
        batches = count(over.batches or 0, "batch", "batches")
        if note == COUNTED:
            text = f"the loader has {batches}, the other loader {other.batches}"
            yield fact(text, over.batches or 0, "batches", over)
        elif note == INDEXED and over.batches:
            yield fact(
                f"the loader has {batches}, the last one has index {over.batches - 1}", over.batches, "batches", over
            )
        elif note == DRAWN and over.rows is not None:
            yield fact(f"the loader draws {over.rows:,} of {over.of:,} samples", over.rows, "samples", over)


def losses_of(trace: Trace, finding: Finding) -> list[LossCalled]:
    """The losses that were computed where the finding says."""
    return [loss for step in finding.trail[:1] for loss in at(trace, step.site, LossCalled)]


def reduced(trace: Trace, finding: Finding) -> list[Evidence]:
    """Over how many samples the loss of a finding, or one at its place, is the mean or the sum; nothing if that is unknown."""
    losses = [*at(trace, finding.site, LossCalled), *losses_of(trace, finding)][:1]
    how = {**dict.fromkeys(MEANS, "mean"), "": "result"}
    return [
        fact(f"the loss is the {how.get(loss.reduction, loss.reduction)} over a batch of {rows}", rows, "samples", loss)
        for loss in losses
        if (rows := rows_of(loss))
    ]


def rows_of(loss: LossCalled) -> int:
    """How many rows a loss in a run was given; 0 where that is not known."""
    first = (loss.input.shape or (0,))[0]
    return first if isinstance(first, int) else 0


def is_otherwise(trace: Trace, finding: Finding) -> bool:
    """Whether the losses of a finding were computed, each of one row or in the other way: as a sum or as a mean."""
    losses, of_sums = losses_of(trace, finding), finding.trail[0].note == SUM
    others = MEANS if of_sums else ("sum",)
    each = (loss.reduction in others or (loss.reduction in REDUCED and rows_of(loss) == 1) for loss in losses)
    return bool(losses) and all(each)
