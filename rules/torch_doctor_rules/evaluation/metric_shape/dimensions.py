"""Choices along another dimension than the one that a loss of the same output takes for the classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Step
from torch_doctor_rules.judging.evidence import fact
from torch_doctor_rules.judging.loss_shapes import rank
from torch_doctor_rules.judging.loss_shapes import shown as sizes
from torch_doctor_rules.judging.sample_dimension import choices, scores_among
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch_doctor.rule import Evidence, Finding
    from torch_doctor.trace import Ranked, Site, Trace

TEXT = "`{function}` does not choose among the classes, which the loss takes from another dimension"
HELP = "choose along the dimension that the loss takes for the classes"


def others(trace: Trace) -> Iterator[tuple[Site, str, list[Step]]]:
    """Yield the comparisons of such choices with labels, with the message and where the choice is made."""
    for compared, choice in choices(trace):
        samples = choice.dim in (0, -(rank(choice.input) or 0))  # TDR216 tells of these
        if choice.over_classes is False and not samples and scores_among(choice) != 1 and not compared.target.forwards:
            where = f"it picks the largest in dimension {choice.dim} of {sizes(choice.input)}"
            text = message(TEXT, function=choice.function.rpartition(".")[2])
            yield compared.site, text, [Step(choice.site, where)]


def shown(finding: Finding, found: Sequence[Ranked]) -> bool | str:
    """Return True if a run shows that these choices are among the classes, or that there are several scores; else why not."""
    if finding.help == HELP and not any(choice.over_classes for choice in found):
        return "the probe run does not show which dimension has the classes"
    return True


def evidence(found: Sequence[Ranked]) -> Iterator[Evidence]:
    """Yield which dimension a run chose along, and whether the loss takes it for the classes."""
    for choice in [
        *(each for each in found if each.over_classes is False),
        *(each for each in found if each.over_classes),
    ][:1]:
        which = "takes it" if choice.over_classes else "takes another one"
        text = f"the largest in dimension {choice.dim} of {sizes(choice.input)} is picked, and the loss {which} for the classes"
        yield fact(text, choice.dim, "", choice)
