"""What a run shows of a figure: how it scores predictions that are made from the labels."""

from __future__ import annotations

from math import log10
from typing import TYPE_CHECKING

from torch_doctor.rule import Step, same_place
from torch_doctor.trace import PERFECT, AnswersScored, Forward
from torch_doctor_rules.judging.answers import MADE, NEAR, RIGHT, is_right, is_share, scored
from torch_doctor_rules.judging.evidence import fact, short

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from torch_doctor.rule import Evidence, Finding
    from torch_doctor.trace import Trace

COUNTED = "the labels are compared with this output"
SETTLED = "the predictions are the same for every output of this call"
"""The notes of the last step of a trail, at the forward: what the figure is blamed for."""
EXACT = 0.002


def step(trace: Trace, forwards: Iterable[int], note: str) -> tuple[Step, ...]:
    """The step of a trail that leads to the forward."""
    found = [event for event in trace.at(*sorted(forwards)) if isinstance(event, Forward)]
    return (Step(found[-1].site, note),) if found else ()


def note_of(finding: Finding) -> str:
    """What the figure of a finding is blamed for."""
    return finding.trail[-1].note if finding.trail else ""


def figures(trace: Trace, finding: Finding) -> tuple[list[AnswersScored], bool]:
    """The figures at a finding's line, else all of the pass; and whether they are those of the line."""
    place = finding.trail[-1].site if finding.trail else finding.site
    events = list(scored(trace))
    ours = [
        event
        for event in events
        if any(same_place(each.site, place) for each in trace.at(event.forward)) or same_place(event.site, finding.site)
    ]
    here = [event for event in ours if same_place(event.site, finding.site)]
    return (here, True) if here else (ours, False)


def is_wrong(event: AnswersScored) -> bool:
    """Whether perfect predictions do not get the score that they should."""
    if not event.figures:
        return False
    best = event.figures[PERFECT]
    counts = abs(best - event.answers) < NEAR
    return is_share(event) and not counts and all(abs(best / right - 1) > NEAR for right in RIGHT)


def exceeds(event: AnswersScored) -> bool:
    """Whether a printed figure is the number of correct predictions divided by that of the batches or samples.

    The sum of the accuracies of batches is a multiple of the share, too, and so are a share in thousandths and a comparison
    with chance or with another model.
    """
    best = event.figures[PERFECT] if event.figures else 0.0
    multiples = (best * event.shares[each] for each in MADE) if is_share(event) else ()
    exact = all(
        abs(event.figures[each] - multiple) <= EXACT * best for each, multiple in zip(MADE, multiples, strict=False)
    )
    tens = abs(log10(best) - round(log10(best))) < NEAR if best > 0 else True
    sums = abs(best - event.batches) < NEAR or abs(best - 100 * event.batches) < NEAR
    divided = [right * event.answers / each for right in RIGHT for each in (event.batches, event.rows) if each]
    counted = any(abs(best - each) <= NEAR * each for each in divided)
    return event.how == "printed" and exact and best > 1 and is_wrong(event) and counted and not tens and not sums


def speaks(trace: Trace, finding: Finding) -> bool:
    """Whether this is the place where a figure appears first that is printed later and exceeds 1."""
    for event in filter(exceeds, scored(trace)):
        same = (each for each in scored(trace) if each.forward == event.forward)
        first = next(each for each in same if is_wrong(each))
        if finding.site == first.site and note_of(finding) == COUNTED:
            return True
    return False


def is_settled(event: AnswersScored) -> bool:
    """Whether a figure is the share of a class, whatever is predicted."""
    value = event.figures[PERFECT]
    expected = [share * right for share in event.labels for right in RIGHT if 0 < share < 1]
    return len(set(event.figures)) == 1 and any(abs(value - each) <= NEAR * each for each in expected)


def confirm(event: AnswersScored, note: str) -> bool:
    """Whether a figure shows what it is blamed for."""
    return is_settled(event) if note == SETTLED else is_wrong(event)


def shown(trace: Trace, finding: Finding) -> Iterator[Evidence]:
    """The scores of the predictions."""
    found, _ = figures(trace, finding)
    note = note_of(finding)
    wrong = [event for event in found if confirm(event, note)]
    for event in [*wrong, *filter(is_right, found)][:1]:
        scores = [short(event.figures[each]) for each in MADE]
        text = "perfect predictions score {}, constant ones {}, shuffled ones {}, random ones {}".format(*scores)
        yield fact(text, event.figures[PERFECT], "", event)
