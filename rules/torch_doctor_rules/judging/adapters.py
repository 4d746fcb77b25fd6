"""Adapters: the optimizers that have them, and what a run tells of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import same_place
from torch_doctor.trace import AdapterTrained, OptimizerBuilt, Stepped
from torch_doctor_rules.judging.evidence import at
from torch_doctor_rules.judging.thawing import Thawing

if TYPE_CHECKING:
    from torch_doctor.rule import Finding
    from torch_doctor.trace import Trace


def frozen_adapters(trace: Trace) -> frozenset[int]:
    """The optimizers that have a frozen adapter: TDR126 speaks."""
    frozen = [event.own for event in trace.of(AdapterTrained) if event.own_trains is False]
    return frozenset(each.optimizer for each in trace.of(OptimizerBuilt) if any(own & each.modules for own in frozen))


def takers(trace: Trace, modules: frozenset[int]) -> list[OptimizerBuilt]:
    """The optimizers that step, and surely have all of these."""
    stepping = {step.optimizer for step in trace.of(Stepped) if step.whole}
    return [
        built
        for built in trace.of(OptimizerBuilt)
        if built.whole and built.optimizer in stepping and modules <= built.modules
    ]


def both_takers(trace: Trace, event: AdapterTrained) -> list[OptimizerBuilt]:
    """The optimizers that train an adapter and what it adapts; none where TDR130 reports that this was thawed."""
    thawed = event.since is not None and any(
        each.thawed.site == event.since for each in trace.view(Thawing).parameters()
    )
    return [] if thawed else takers(trace, event.own)


def told(trace: Trace, finding: Finding) -> list[AdapterTrained]:
    """What a run tells of the adapters of a finding: those built there, or that its optimizer has."""
    events = trace.of(AdapterTrained)
    here = [event for event in events if same_place(event.site, finding.site)]
    if here:
        return here
    taken = frozenset[int]().union(*(built.modules for built in at(trace, finding.site, OptimizerBuilt)))
    return [event for event in events if event.own & taken]
