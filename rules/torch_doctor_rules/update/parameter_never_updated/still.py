"""Parameters that an optimizer steps and that do not change in a run."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from torch_doctor.rule import same_place
from torch_doctor.trace import FrozenRefused, OptimizerBuilt, Owned, ParameterSeen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.rule import Finding
    from torch_doctor.trace import Trace

ENOUGH = 2  # steps
WHY = {
    "rate": "its learning rate is 0 and never raised",
    "frozen": "it is frozen and never unfrozen",
}
"""Why no parameter of a group changes, by `ParameterSeen.still`."""
HELP = {
    "rate": "set the learning rate that you intend, or remove the group's parameters from the optimizer",
    "data": "pass parameters that require gradients, such as `model.parameters()`",
    "plain": "call `requires_grad_()` on the tensors before the optimizer gets them",
    "frozen": "unfreeze the parameters before training, or remove them from the optimizer",
}

ALL_FROZEN = "all parameters of `{name}` are frozen: its steps change nothing"
ALL_PLAIN = "no tensor of `{name}` requires gradients: its steps change nothing"


def own(trace: Trace, optimizer: OptimizerBuilt) -> list[ParameterSeen]:
    """What was seen of the parameters of an optimizer."""
    return [seen for seen in trace.of(ParameterSeen) if seen.optimizer == optimizer.optimizer]


def unmoved(trace: Trace, optimizer: OptimizerBuilt) -> list[ParameterSeen]:
    """The parameters of an optimizer that should have moved and did not."""
    found = [seen for seen in own(trace, optimizer) if seen.steps >= ENOUGH]
    if found and all(seen.moved is False for seen in found):
        waits = any(seen.scheduled for seen in found) and not any(seen.live_steps for seen in found)
        waits |= any(seen.still == "waits" for seen in found)
        return [] if waits and not any(seen.still == "rate" for seen in found) else found
    return [seen for seen in found if seen.visible_steps >= ENOUGH and seen.moved is False]


def dead_groups(trace: Trace, optimizer: OptimizerBuilt) -> Iterator[tuple[int, list[ParameterSeen]]]:
    """The groups, beside others, none of whose parameters moved, with one reason why none ever will."""
    groups: dict[int, list[ParameterSeen]] = defaultdict(list)
    for seen in own(trace, optimizer):
        groups[seen.group].append(seen)
    for number, group in groups.items():
        if group[0].still == "frozen" and trace.of(Owned):
            continue  # a framework may unfreeze it
        idle = all(seen.moved is False and seen.steps >= ENOUGH for seen in group)
        if len(groups) > 1 and idle and len({seen.still for seen in group}) == 1 and group[0].still in WHY:
            yield number, group


def refused(trace: Trace) -> Iterator[tuple[OptimizerBuilt, FrozenRefused]]:
    """Yield the optimizers with nothing to train where torch refused a backward pass, which ended the run."""
    if trace.run is None or trace.run.end.how != "exception" or trace.of(Owned):
        return
    built = {event.optimizer: event for event in trace.of(OptimizerBuilt)}
    for event in trace.of(FrozenRefused):
        if event.optimizer in built and any(same_place(frame.site, event.site) for frame in trace.run.end.frames):
            yield built[event.optimizer], event


def about(finding: Finding, optimizer: OptimizerBuilt) -> bool:
    """Return whether a finding, or its trail, has the place where the optimizer was built."""
    return any(same_place(site, optimizer.site) for site in finding.places())
