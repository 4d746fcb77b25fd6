"""Exchanges between processes that train: whether what they step with goes from one to the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace import Backward, Escaped, Exchanged, Forward, Stepped, Wrapped
from torch_doctor_rules.judging.family import Family

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Event, GroupBegun, Trace
    from torch_doctor_rules.judging.ranks import Ranks

OF_THREADS = "torch.nn.DataParallel"
"""A wrapper that works within one process."""
AT_FIRST = ("broadcast", "broadcast_object_list", "scatter", "broadcast_coalesced")
"""What makes the processes begin alike, where it stands before training."""


def applied(trace: Trace, backward: Backward) -> Stepped | None:
    """The next step that applies what a backward pass computed."""
    family = trace.view(Family)
    for step in trace.of(Stepped):
        if step.index > backward.index and not step.manual and family.related(step.modules, backward.modules):
            return step
    return None


def may_average(ranks: Ranks, module: int, forward: Event, step: Event) -> bool:
    """Whether the script may itself average the gradients of a pass: it sends more than a loss to log before the step.

    Where steps of all processes were seen, their gradients tell.
    """
    apart = ranks.apart(module)
    if apart is not None and (apart.real or ranks.averaged(module)):
        return not apart.real
    out_of_sight = any(module in event.modules for event in ranks.trace.between(forward, step, Escaped))
    return out_of_sight or any(event.numbers != 1 for event in ranks.trace.between(forward, step, Exchanged))


def trained(trace: Trace) -> Iterator[tuple[Forward, Stepped]]:
    """The forwards that are gone back through before a step of an optimizer, with that step."""
    family = trace.view(Family)
    for backward in trace.of(Backward):
        steps = [step for step in trace.of(Stepped) if step.index > backward.index and not step.manual]
        forwards = trace.at(*sorted(backward.loss.graph_forwards)) if backward.through == "backward" else ()
        for forward in forwards:
            if isinstance(forward, Forward) and family.related((forward.module,), backward.modules):
                step = next((each for each in steps if family.related((forward.module,), each.modules)), None)
                if step is not None:
                    yield forward, step


def may_send(trace: Trace, group: GroupBegun) -> bool:
    """Whether anything is sent between the processes, or may be, beside single numbers and what makes them begin alike."""
    sent = trace.of(Exchanged)
    if group.exchanges - {event.site for event in sent}:
        return True
    first = min((backward.index for backward in trace.of(Backward)), default=0)
    return any(
        event.numbers != 1 and not (event.index < first and event.function.rpartition(".")[2] in AT_FIRST)
        for event in sent
    )


def shared(trace: Trace, forward: Forward, step: Stepped) -> bool:
    """Whether a wrapper has the model, or it or its optimizer went where something may exchange its gradients."""
    family, module = trace.view(Family), (forward.module,)
    if any(each.wrapper != OF_THREADS and family.related((each.module,), module) for each in trace.of(Wrapped)):
        return True
    return any(
        not event.builds
        and (
            step.optimizer in event.optimizers
            or family.related(event.modules, module)
            or forward.index in event.forwards
        )
        for event in trace.of(Escaped)
    )
