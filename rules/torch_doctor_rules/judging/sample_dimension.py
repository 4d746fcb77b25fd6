"""Where the samples of a batch lie in class scores and labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace import Compared, Kind, LossCalled, Ranked, Source, Trace
from torch_doctor_rules.judging.loss_shapes import ANY, rank

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import TensorFact

SCORES = frozenset((Kind.LOGITS, Kind.PROBABILITIES, Kind.LOG_PROBABILITIES))
PAIR = 2
"""Dimensions of class scores: samples and classes."""
BATCH = "batch"
"""The size of a dimension that holds the samples of a loader's batch."""


def mixes_samples(trace: Trace, event: Ranked, labels: TensorFact) -> bool:
    """Whether scores of a model are chosen of, with the samples in dimension 0, and compared with labels."""
    scores = event.input
    if not scores.forwards or not are_labels(labels) or not (trace.observed or scores.kind in SCORES):
        return False
    (first, second), its = (scores.shape or ())[:PAIR], labels.shape or ()
    if first is None:
        return rank(scores) == PAIR and isinstance(second, int) and its[:1] == (BATCH,)
    return first != ANY and first in (*its[:1], *its[-1:])


def choices(trace: Trace) -> Iterator[tuple[Compared, Ranked]]:
    """The choices of the largest that are compared with something."""
    for compared in trace.of(Compared):
        yield from ((compared, choice) for choice in trace.at(compared.chosen) if isinstance(choice, Ranked))


def scores_among(choice: Ranked) -> int | None:
    """Among how many scores the largest was looked for; None where that is not known."""
    shape = choice.input.shape or ()
    size = shape[choice.dim] if -len(shape) <= choice.dim < len(shape) else None
    before = shape[: choice.dim] if choice.dim >= 0 else shape[:1]
    return size if isinstance(size, int) and not ("..." in before and choice.dim >= 0) else None


def are_labels(fact: TensorFact) -> bool:
    """Whether these are labels, or something else that a loader gave and no model made."""
    return not fact.forwards and (fact.kind is Kind.LABELS or fact.source is Source.LOADER)


def alike(scores: TensorFact, loss: LossCalled) -> bool:
    """Whether dimension 0 of the scores holds what dimension 0 of the loss's input does: the samples."""
    mine, its = scores.shape or (), loss.input.shape or ()
    if ANY in (*mine[:1], *its[:1]):
        return mine == its and isinstance(mine[-1], int) and bool(loss.target.shape)
    if len(mine) == len(its):
        return mine == its
    flat = len(its) == PAIR and isinstance(its[1], int)
    return flat and mine[-1] == its[1] and mine[0] != its[1]
