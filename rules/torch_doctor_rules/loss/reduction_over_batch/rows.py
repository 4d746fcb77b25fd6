"""Reductions over dimension 0, and what shows that each row is a sample."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Step
from torch_doctor.trace import Compared, Kind, LossCalled, Normalised, PredictionsPassed, Ranked, Trace
from torch_doctor_rules.judging.loss_inputs import CROSS_ENTROPY, MARGIN, NLL
from torch_doctor_rules.judging.loss_shapes import ANY, rank
from torch_doctor_rules.judging.sample_dimension import PAIR, alike, are_labels

if TYPE_CHECKING:
    from collections.abc import Iterator

OF_ROWS = CROSS_ENTROPY | NLL | MARGIN
"""Losses whose input has the samples in dimension 0 and the classes in dimension 1."""


def over_batch(event: Normalised | Ranked) -> bool:
    """Return whether it goes over dimension 0 of several, with more than one number in each of the first two."""
    shape = event.input.shape or ()
    if len(shape) < PAIR or 1 in shape[:PAIR]:
        return False
    return event.dim == 0 or (event.dim == -len(shape) and shape[0] != ANY)


def readers(trace: Trace, event: Normalised) -> Iterator[Step]:
    """Yield where what the softmax gave is read row by row: by a loss over classes, or by the choice of a class in each row."""
    for loss in trace.of(LossCalled):
        likelihood = loss.loss in NLL and loss.input.kind is Kind.PROBABILITIES  # TDR203 says more
        if (
            loss.loss in OF_ROWS
            and loss.input.operation_at == event.site
            and not likelihood
            and alike(event.input, loss)
        ):
            yield Step(loss.site, f"{loss.loss.rpartition('.')[2]} treats each row as a sample here")
    for passed in trace.at(*sorted(event.input.forwards)):
        if isinstance(passed, PredictionsPassed) and passed.classes and event.input.kind is Kind.LOGITS:
            yield Step(passed.site, "each row of the predictions is a sample here")
    judged = {compared.chosen for compared in trace.of(Compared) if are_labels(compared.target)}
    for choice in trace.of(Ranked) if event.input.kind is Kind.LOGITS or trace.observed else ():
        given = choice.input
        scores = bool(given.forwards | event.input.forwards) or choice.index in judged
        same = given.operation_at == event.site and given.shape == event.input.shape
        if scores and same and rank(given) == PAIR and choice.dim in (1, -1):
            yield Step(choice.site, f"{choice.function.rpartition('.')[2]} is taken over the classes of each row here")
