"""What the scores of predictions that were made from the labels show of a figure: what it is a mean of, and over what."""

from __future__ import annotations

from math import isclose
from typing import TYPE_CHECKING

from torch_doctor.rule import same_place
from torch_doctor.trace import (
    ALL_COMPARED,
    CONSTANT,
    FIRST_WRONG,
    LAST_WRONG,
    LOGGED,
    PERFECT,
    RANDOM,
    SHUFFLED,
    AnswersScored,
    Backward,
    Stepped,
)
from torch_doctor_rules.judging.evidence import count, fact

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.rule import Evidence
    from torch_doctor.trace import Site, Trace

RIGHT = (1.0, 100.0)
"""What perfect predictions score, as a share or in percent."""
MADE = (PERFECT, CONSTANT, SHUFFLED, RANDOM)
BATCHES, SAMPLES = "batches", "samples"
"""What has the same weight in a mean."""
NEAR = 0.005
ROUGH = 0.15
_COSTS = {"classes": (10.0, 9.21), "marks": (10.0, 9.21), "numbers": (1.0,)}
"""What a wrong answer adds to the common losses, by the kind of the labels: as the probe makes it, by its logit or probability."""
_SEVERAL = 3
_PRINTED, _DIGITS = 0.02, 1e-3
"""How far numbers may differ because of the digits that are printed."""


def scored(trace: Trace, site: Site | None = None) -> Iterator[AnswersScored]:
    """Yield the figures of a run, or those of a line, in which evaluations show their results."""
    for event in trace.of(AnswersScored):
        shows = event.how not in (ALL_COMPARED, LOGGED)  # a logger has its own weights
        if event.figures and shows and (site is None or same_place(event.site, site)):
            yield event


def is_share(event: AnswersScored) -> bool:
    """Whether a figure goes with the share of predictions that are right."""
    if (
        not event.figures
        or len(event.shares) != len(event.figures)
        or len({event.shares[each] for each in MADE}) < _SEVERAL
    ):
        return False
    best = event.figures[PERFECT]
    near = (abs(event.figures[each] - best * event.shares[each]) <= ROUGH * abs(best) for each in MADE)
    return best != 0 and event.shares[PERFECT] == 1 and all(near)


def is_right(event: AnswersScored) -> bool:
    """Whether a figure is the share of predictions that are right, or that in percent."""
    return is_share(event) and any(abs(event.figures[PERFECT] / right - 1) <= NEAR for right in RIGHT)


def weights(event: AnswersScored) -> str:
    """Return what has the same weight in a figure: batches or samples; "" where a run does not show it.

    As many wrong answers count more in a smaller last batch than in the first one, exactly by the ratio of their sizes, if
    batches have the same weight.
    """
    if len(event.figures) <= LAST_WRONG or event.sizes[0] == event.sizes[1]:
        return ""
    early, late = (event.figures[each] - event.figures[PERFECT] for each in (FIRST_WRONG, LAST_WRONG))
    if not early or not late:
        return ""
    if isclose(late / early, event.sizes[0] / event.sizes[1], rel_tol=NEAR):
        return BATCHES
    return SAMPLES if isclose(late, early, rel_tol=NEAR) else ""


def divisor(event: AnswersScored) -> str:
    """Return whether sums of means of batches are divided by the number of batches or of samples; "" if that is not shown."""
    counts = ((BATCHES, event.batches), (SAMPLES, event.rows))
    if event.rows < 2 * event.batches or event.batches < 2:  # noqa: PLR2004 - too few to tell one from the other
        return ""
    if is_share(event):
        parts = {what: event.batches / number for what, number in counts}
        best = event.figures[PERFECT]
        return next(
            (what for what, part in parts.items() if any(isclose(best, part * r, rel_tol=NEAR) for r in RIGHT)), ""
        )
    if len(event.figures) <= FIRST_WRONG or not event.wrong:
        return ""
    added = event.figures[FIRST_WRONG] - event.figures[PERFECT]
    for what, number in counts:
        cost = added * event.sizes[0] * number / event.wrong
        if any(isclose(cost, each, rel_tol=2 * NEAR) for each in _COSTS.get(event.kind, ())):
            return what
    return ""


def sites(trace: Trace, what: str) -> Iterator[Site]:
    """Yield the lines all of whose figures give the same weight to these; one that does not change may be of other predictions."""
    by_site: dict[Site, set[str]] = {}
    for event in scored(trace):
        by_site.setdefault(event.site, set()).add(weights(event))
    yield from (site for site, found in by_site.items() if found == {what})


def moved(trace: Trace, site: Site) -> Iterator[Evidence]:
    """Yield how a figure of a line changes with the place of wrong predictions."""
    for event in [each for each in scored(trace, site) if weights(each)][:1]:
        perfect, early, late = (f"{event.figures[each]:.4g}" for each in (PERFECT, FIRST_WRONG, LAST_WRONG))
        spoilt = f"with {event.wrong} wrong in the first batch {early}, in the last one {late}"
        yield fact(f"perfect predictions score {perfect}, {spoilt}", event.figures[LAST_WRONG], "", event)


def divided(trace: Trace, site: Site) -> Iterator[Evidence]:
    """Yield what shows by which number a figure of a line is divided."""
    for event in [each for each in scored(trace, site) if divisor(each)][:1]:
        said = f"{count(event.rows, 'sample')} in {count(event.batches, 'batch', 'batches')}"
        text = f"perfect predictions score {event.figures[PERFECT]:.4g}, for {said}"
        if not is_share(event):
            added = (event.figures[FIRST_WRONG] - event.figures[PERFECT]) / event.wrong
            text = f"a wrong prediction adds {added:.4g}, for {said}"
        yield fact(text, event.figures[PERFECT], "", event)


def divided_by(trace: Trace, what: str) -> Iterator[Site]:
    """Yield the lines with a figure that is divided by the number of these."""
    yield from (event.site for event in scored(trace) if divisor(event) == what)


def divides_right(trace: Trace, site: Site) -> bool:
    """Whether all figures of a line are divided by the number of batches."""
    return {divisor(event) for event in scored(trace, site)} == {BATCHES}


def is_share_divided(trace: Trace, site: Site) -> bool:
    """Whether a share of right predictions, which is printed later, is divided by the number of samples once more."""
    here = (event for event in scored(trace, site) if divisor(event) == SAMPLES)
    return any(is_share(event) and is_first(trace, event) for event in here)


def is_first(trace: Trace, event: AnswersScored) -> bool:
    """Whether a figure is printed later, and none before it in the same pass has the same numbers."""
    same = [each for each in scored(trace) if each.forward == event.forward and _alike(each, event)]
    return same[0] is event and any(each.how == "printed" for each in same)


def _alike(one: AnswersScored, other: AnswersScored) -> bool:
    """Whether two figures have the same numbers, as far as they are printed."""
    pairs = zip(one.figures, other.figures, strict=True)
    return len(one.figures) == len(other.figures) and all(
        isclose(*pair, rel_tol=_PRINTED, abs_tol=_DIGITS) for pair in pairs
    )


def trains_around(trace: Trace, event: AnswersScored) -> bool:
    """Whether a loop around the evaluation trains."""
    updates = (*trace.of(Backward), *trace.of(Stepped))
    training = {scope.loop for each in updates for scope in each.scope.iterations()}
    return bool(training & {scope.loop for scope in event.scope.iterations()})
