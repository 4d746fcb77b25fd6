"""Who else reads what goes into a loss: a fix that changes these values is only right where nobody needs them as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace import Forward, Kind, LossCalled, Normalised, ScoresRead, Trace

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from torch_doctor.trace import Site

ARRAYS = frozenset(("item", "numpy", "tolist"))
"""Methods that give numbers to code which nobody follows."""
FLAT = 2
"""The dimensions of a batch of scores, one row per sample: the last one is the second."""


def reader(trace: Trace, made: Site | None, losses: Collection[str], *, monotone: bool = False) -> Site | None:
    """Return a place that reads the values which an operation computes, other than these losses; None if there is none.

    Without the operation, or with another one instead, that place would read other values. Reading only the order of the
    values is no such place: a sigmoid keeps the order of all values, a softmax that along its dimension, and a `monotone`
    change keeps all.
    """
    if trace.observed:
        return made  # a run records no readers
    dims = {event.dim for event in trace.of(Normalised) if event.site == made}
    found = [
        event.site
        for event in trace.of(ScoresRead)
        if event.input.operation_at == made and not (event.order and (monotone or _keeps_order(event, dims)))
    ]
    found += [
        loss.site
        for loss in trace.of(LossCalled)
        if (loss.input.operation_at == made and loss.loss not in losses) or loss.target.operation_at == made
    ]
    return min(found, default=None, key=_place)


def threshold(trace: Trace, loss: LossCalled) -> Site | None:
    """Return a place that takes the raw scores that a loss gets for probabilities; None if there is none."""
    models = set(_models(trace, loss.input.forwards))
    found = [
        event.site
        for event in trace.of(ScoresRead)
        if (event.share or event.by in ARRAYS) and not event.order and event.input.kind in (Kind.LOGITS, Kind.HIDDEN)
        if models.intersection(_models(trace, event.input.forwards))
    ]
    return min(found, default=None, key=_place)


def line(site: Site, finding: Site) -> str:
    """Return the words for a line as they are read beside a finding."""
    if site.path != finding.path:
        return f"line {site.row} of {site.path}"
    return f"line {site.row}" if site.cell == finding.cell else f"line {site.row} of cell {site.cell}"


def _keeps_order(event: ScoresRead, dims: Collection[int | None]) -> bool:
    """Whether the order that is read is the same with a softmax or sigmoid as without it."""
    if event.input.kind in (Kind.BOUNDED, Kind.LOG_BOUNDED):
        return True
    if event.dim is None:
        return False
    rank = None if event.input.shape is None or "..." in event.input.shape else len(event.input.shape)
    known = {dim for dim in dims if dim is not None} or {1}
    if event.dim in known:
        return True
    return rank in (None, FLAT) and {event.dim, *known} <= {1, -1}


def _models(trace: Trace, forwards: frozenset[int]) -> Iterator[int]:
    """The modules that computed something."""
    return (event.module for event in trace.at(*forwards) if isinstance(event, Forward))


def _place(site: Site) -> tuple[str, int, int, int]:
    return site.path, site.cell or 0, site.row, site.column
