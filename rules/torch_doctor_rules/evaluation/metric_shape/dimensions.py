"""Choices along another dimension than the one that a loss of the same output takes for the classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Step, same_place
from torch_doctor.trace import ALL_COMPARED, PERFECT, AnswersScored
from torch_doctor_rules.judging.evidence import fact
from torch_doctor_rules.judging.loss_shapes import rank
from torch_doctor_rules.judging.loss_shapes import shown as sizes
from torch_doctor_rules.judging.sample_dimension import choices, scores_among
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch_doctor.rule import Evidence, Finding
    from torch_doctor.trace import Compared, Ranked, Site, Trace

TEXT = "`{function}` does not choose among the classes, which the loss takes from another dimension"
HELP = "choose along the dimension that the loss takes for the classes"
ALL = 0.95
"""The share of perfect predictions that equals the labels, where a few may be left out on purpose."""


def others(trace: Trace) -> Iterator[tuple[Site, str, list[Step]]]:
    """Yield the comparisons of such choices with labels, with the message and where the choice is made."""
    for compared, choice in choices(trace):
        samples = choice.dim in (0, -(rank(choice.input) or 0))  # TDR216 tells of these
        if samples or scores_among(choice) == 1 or compared.target.forwards:
            continue
        if choice.over_classes is False or is_missed(trace, compared, choice):
            where = f"it picks the largest in dimension {choice.dim} of {sizes(choice.input)}"
            text = message(TEXT, function=choice.function.rpartition(".")[2])
            yield compared.site, text, [Step(choice.site, where)]


def is_missed(trace: Trace, compared: Compared, choice: Ranked) -> bool:
    """Whether perfect predictions do not equal the labels, because another dimension than that of the choice has the classes."""
    dim = choice.dim if choice.dim < 0 else choice.dim - (rank(choice.input) or 0)
    return any(event.figures[PERFECT] < ALL and event.axis not in (0, dim) for event in _compared(trace, compared.site))


def _compared(trace: Trace, site: Site) -> Iterator[AnswersScored]:
    """Yield how many labels equal what they are compared with at a line, for predictions that were made from them."""
    for event in trace.of(AnswersScored):
        if event.how == ALL_COMPARED and event.kind == "classes" and same_place(event.site, site):
            yield event


def shown(trace: Trace, finding: Finding, found: Sequence[Ranked]) -> bool | str:
    """Return True if a run shows that these choices are among the classes, or that there are several scores; else why not."""
    right = any(event.figures[PERFECT] == 1 for event in _compared(trace, finding.site))
    if finding.help == HELP and not right and not any(choice.over_classes for choice in found):
        return "the probe run does not show which dimension has the classes"
    return True


def speaks(trace: Trace, finding: Finding) -> bool:
    """Whether perfect predictions show the mistake, so that nothing in the source can excuse it."""
    here = (pair for pair in choices(trace) if pair[0].site == finding.site)
    return finding.help == HELP and any(is_missed(trace, *pair) for pair in here)


def evidence(trace: Trace, finding: Finding, found: Sequence[Ranked]) -> Iterator[Evidence]:
    """Yield which dimension a run chose along, whether the loss takes it for the classes, and how many labels are met."""
    for event in _compared(trace, finding.site):
        share = f"{event.figures[PERFECT]:.0%}"
        yield fact(f"of perfect predictions, {share} equal the labels here", event.figures[PERFECT], "", event)
        break
    for choice in [
        *(each for each in found if each.over_classes is False),
        *(each for each in found if each.over_classes),
    ][:1]:
        if choice.over_classes is None:
            break
        which = "takes it" if choice.over_classes else "takes another one"
        text = f"the largest in dimension {choice.dim} of {sizes(choice.input)} is picked, and the loss {which} for the classes"
        yield fact(text, choice.dim, "", choice)
