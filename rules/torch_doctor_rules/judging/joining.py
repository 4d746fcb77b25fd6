"""Parts that become part of a model after an optimizer took its parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace import OptimizerBuilt, Registered, WeightsGiven
from torch_doctor_rules.judging.gradients import Gradients

if TYPE_CHECKING:
    from torch_doctor.trace import Site, Trace


def is_late(trace: Trace, built: OptimizerBuilt) -> bool:
    """Return whether a part that no optimizer has joins the model later and trains."""
    gradients = trace.view(Gradients)
    trained = frozenset[int]().union(*(event.modules for event in gradients.filling))
    taken = frozenset[int]().union(*(event.modules for event in trace.of(OptimizerBuilt)))
    return joined_later(gradients, built, trained - taken) is not None


def joined_later(gradients: Gradients, built: OptimizerBuilt, left: frozenset[int]) -> Site | None:
    """Return where something trained, which the optimizer lacks, becomes part of the model that it has.

    What the optimizer has of it gets no gradients, as a layer in an adapter. A run shows it only if it takes the place of
    another part.
    """
    trace = gradients.trace
    targets = _copies_beside(gradients)
    filled = frozenset[int]().union(*(event.modules for event in gradients.filling))
    for new in trace.of(Registered):
        inside = gradients.family.within((new.child,))
        trained = inside & left - targets
        joins = (
            new.index > built.index and new.owner in built.modules and trained and not inside & built.modules & filled
        )
        if joins and (not trace.observed or _displaces(trace, built, new)):
            return new.site
    return None


def _copies_beside(gradients: Gradients) -> frozenset[int]:
    """What was copied from something that gets gradients of the same losses: a target network, which follows it."""
    return frozenset[int]().union(
        *(
            copy.modules
            for copy in gradients.trace.of(WeightsGiven)
            if any(event.modules & copy.of and event.modules & copy.modules for event in gradients.filling)
        )
    )


def _displaces(trace: Trace, built: OptimizerBuilt, new: Registered) -> bool:
    return any(
        old.owner == new.owner and old.name == new.name and old.child != new.child and old.child in built.modules
        for old in trace.of(Registered)
    )
