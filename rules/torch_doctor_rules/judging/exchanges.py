"""Exchanges between processes that train: whether what they step with goes from one to the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import same_place
from torch_doctor.trace import (
    Backward,
    Escaped,
    Exchanged,
    Forward,
    GaveUp,
    LayerRegistered,
    Owned,
    Stepped,
    Wrapped,
)
from torch_doctor_rules.judging.family import Family

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Event, GroupBegun, Trace
    from torch_doctor_rules.judging.ranks import Ranks

WAITS = "torch.nn.parallel.DistributedDataParallel"
"""A wrapper that waits for the gradient of each parameter, unless it is told to look for unused ones."""
ENOUGH = 2
"""Steps until torch finds that a gradient never came."""
STUCK = "Expected to have finished reduction in the prior iteration"
"""How torch says, at the next forward, that one never came."""
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


def through(trace: Trace, wrapped: Wrapped) -> list[Forward]:
    """The forwards through a wrapper, in order, to which gradients came back."""
    behind = {
        forward for event in trace.of(Backward) if event.through == "backward" for forward in event.loss.graph_forwards
    }
    return [
        event
        for event in trace.of(Forward)
        if event.module == wrapped.module and event.wrapped and event.index in behind and event.index > wrapped.index
    ]


def escaped(trace: Trace) -> frozenset[int]:
    """The modules of which code out of sight may have changed anything."""
    return frozenset[int]().union(*(event.modules for event in trace.of(Escaped) if not event.builds))


def waiting(trace: Trace) -> Iterator[tuple[Wrapped, list[LayerRegistered]]]:
    """The wrappers that wait for gradients that never come, and the layers nothing calls for whose gradients they do."""
    family = trace.view(Family)
    unused = [event for event in trace.of(LayerRegistered) if not event.reached]
    if trace.observed:
        for wrapped in _stuck(trace):
            inside = family.within((wrapped.module,))
            yield wrapped, [each for each in unused if each.owner in inside and each.trainable]
    elif unused and not any(trace.of(kind) for kind in (Owned, GaveUp)):
        touched = escaped(trace)
        for wrapped in trace.of(Wrapped):
            layers = [each for each in unused if (each.owner, each.name) in wrapped.awaited]
            if layers and wrapped.module not in touched and len(through(trace, wrapped)) >= ENOUGH:
                yield wrapped, layers


def _stuck(trace: Trace) -> Iterator[Wrapped]:
    """The wrapper whose exchange a run could not finish, by what torch said."""
    end = trace.run.end if trace.run is not None else None
    if end is not None and STUCK in end.exception:
        came = (each for each in reversed(trace.of(Wrapped)) if each.wrapper == WAITS)
        failed = [frame.site for frame in end.frames]
        yield from [
            each for each in came if any(same_place(e.site, at) for e in through(trace, each) for at in failed)
        ][:1]
