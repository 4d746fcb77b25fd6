"""Averaged copies: modules that no optimizer steps, and whose weights follow those of one that is trained."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace import Stepped, WeightsGiven
from torch_doctor_rules.judging.family import Family

if TYPE_CHECKING:
    from torch_doctor.trace import Trace


class Averages:
    """The modules of one trace whose weights are set in iterations that step an optimizer."""

    def __init__(self, trace: Trace) -> None:
        self._family = trace.view(Family)
        steps = {scope for step in trace.of(Stepped) for scope in step.scope.iterations()}
        self._given = frozenset[int]().union(
            *(
                given.modules
                for given in trace.of(WeightsGiven)
                if not given.anew and not steps.isdisjoint(given.scope.iterations())
            )
        )

    def follows(self, module: int) -> bool:
        """Whether the weights of a module are set while another is trained."""
        return bool(self._given) and self._family.related(self._given, (module,))
