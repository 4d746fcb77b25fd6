"""Rules that compare rows of evaluation with rows of training: what they find is also what `trace --data` tells."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING

from torch_doctor.rule import Finding, Rule
from torch_doctor_rules.judging.loaders import Loaders
from torch_doctor_rules.judging.sites import first_per_site

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Backward, Forward, LoaderBuilt, Trace


class Comparison(Rule):
    """A rule whose findings each belong to a loader that evaluates."""

    @abc.abstractmethod
    def compared(self, trace: Trace) -> Iterator[tuple[int, Finding]]:
        """Yield the findings with the loaders."""

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Yield the first finding at each place."""
        yield from first_per_site(finding for _, finding in self.compared(trace))


def pairs(trace: Trace) -> Iterator[tuple[LoaderBuilt, Forward, LoaderBuilt, Backward]]:
    """Yield each loader that only evaluates, with each that trains: with the first pass of a batch of both."""
    loaders = trace.view(Loaders)
    trained = list(loaders.training())
    for evaluated, forward in loaders.never_training():
        yield from ((evaluated, forward, *each) for each in trained)
