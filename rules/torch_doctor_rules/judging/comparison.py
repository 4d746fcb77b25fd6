"""Rules that compare rows of evaluation with rows of training: what they find is also what `trace --data` tells."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING

from torch_doctor.rule import Finding, Rule
from torch_doctor_rules.judging.sites import first_per_site

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Trace


class Comparison(Rule):
    """A rule whose findings each belong to a loader that evaluates."""

    @abc.abstractmethod
    def compared(self, trace: Trace) -> Iterator[tuple[int, Finding]]:
        """Yield the findings with the loaders."""

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Yield the first finding at each place."""
        yield from first_per_site(finding for _, finding in self.compared(trace))
