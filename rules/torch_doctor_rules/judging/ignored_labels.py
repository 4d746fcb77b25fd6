"""Scores that count labels which a loss ignores, as the source shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace import Forward, LabelsIgnored, PaddingScored

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Site, Trace


class IgnoredLabels:
    """Such scores in one trace."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    def scores(self) -> Iterator[tuple[PaddingScored, str]]:
        """Yield each score with the value of the labels that it should leave out; "" if it is unknown, as in a run."""
        for event in self._trace.of(PaddingScored):
            fill = "" if self._trace.observed else self._fill(event)
            if event.counted is True and fill is not None and (not event.classes or _is_class(fill, event.classes)):
                yield event, fill

    def places(self) -> set[Site]:
        """Return where these scores are computed."""
        return {event.scored_at for event, _ in self.scores() if event.scored_at is not None}

    def _fill(self, event: PaddingScored) -> str | None:
        """Return the value of the labels that a loss ignores; None if there is no such loss."""
        losses = list(self._trace.of(LabelsIgnored))
        if event.fill:
            ignored = event.known or any(each.value == event.fill for each in losses)
            return event.fill if ignored else None
        models = self._models(event.forwards)
        values = {each.value for each in losses if each.named and models & self._models(each.forwards)}
        return values.pop() if len(values) == 1 else None

    def _models(self, forwards: frozenset[int]) -> set[int]:
        return {each.module for each in self._trace.at(*sorted(forwards)) if isinstance(each, Forward)}


def _is_class(fill: str, classes: int) -> bool:
    """Whether a value is one of so many classes."""
    return fill.isdigit() and int(fill) < classes
