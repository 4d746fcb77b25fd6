"""What a loss was computed of while autograd recorded nothing."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from torch_doctor.trace import Backward, Escaped, Forward, OptimizerBuilt, PartUnrecorded, Stepped, Trace, WeightsGiven
from torch_doctor_rules.judging.gradients import Gradients, accumulates, fills

if TYPE_CHECKING:
    from collections.abc import Iterator


def first_unrecorded(trace: Trace, backward: Backward) -> Forward | None:
    """The first forward behind a loss, when autograd recorded none of them; what was cut by hand has its own rule."""
    loss = backward.loss
    if backward.through == "assigned":
        return None  # gradients that are worked out by hand need no graph
    if not accumulates(backward) or loss.cuts or not (loss.graph is False or loss.leaf is True):
        return None
    forwards = [event for event in trace.at(*sorted(loss.forwards)) if isinstance(event, Forward)]
    if trace.observed and not forwards and loss.leaf:
        forwards = [
            forward
            for forward in trace.of(Forward)
            if forward.index < backward.index and forward.trainable and trace.same_iteration(backward, forward)
        ]
    wrong = forwards and all(forward.grad is False and forward.trainable is True for forward in forwards)
    return forwards[0] if wrong and not _goes_on(trace, forwards[0], backward) else None


def _goes_on(trace: Trace, forward: Forward, backward: Backward) -> bool:
    """Whether code out of sight got a module behind the forward, which may have computed the loss of its output."""
    return any(event.modules - {forward.module} for event in trace.between(forward, backward, Escaped))


def unrecorded_parts(trace: Trace) -> Iterator[tuple[Backward, Forward | PartUnrecorded]]:
    """Calls before a recorded one of what an optimizer was given, steps, and never has gradients for.

    In a run each of them is beside the first backward pass: what the run cannot tell is whether that is meant.
    """
    if trace.observed:
        yield from ((event, part) for event in islice(trace.of(Backward), 1) for part in trace.of(PartUnrecorded))
        return
    passes = [event for event in trace.of(Backward) if fills(event)]
    steps = [event for event in trace.of(Stepped) if event.optimizer]
    whole = all(event.whole for event in passes) and all(event.whole for event in steps)
    if not whole or not all(event.whole for event in trace.of(OptimizerBuilt)):
        return
    gradients = trace.view(Gradients)
    given = frozenset[int]().union(
        *(event.modules for event in trace.of(WeightsGiven) if not event.anew)
    )  # who loads some may mean to keep them
    filled = frozenset[int]().union(*(event.modules for event in passes))

    def meant(backward: Backward, modules: frozenset[int]) -> bool:
        stepped = any(modules <= step.modules and trace.common_loop(backward, step) for step in steps)
        touched = any(gradients.may_have_touched(each, modules) for each in trace.of(Escaped))
        return bool(modules) and stepped and not modules & given and not touched

    for event in passes:
        behind = trace.at(*sorted(event.loss.forwards - event.loss.graph_forwards)) if event.loss.graph_forwards else ()
        idle = [each for each in behind if isinstance(each, Forward) and each.trainable is True]
        yield from ((event, each) for each in idle if not each.unrecorded & filled and meant(event, each.unrecorded))
        parts = (
            each for each in trace.of(PartUnrecorded) if each.modules <= event.modules and meant(event, each.modules)
        )
        yield from ((event, part) for part in islice(parts, 1))
