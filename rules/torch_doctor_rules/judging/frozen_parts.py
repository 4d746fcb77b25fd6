"""Frozen batch norm that gathers statistics where the model trains, and optimizers that move what is frozen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace import (
    Backward,
    Escaped,
    Forward,
    FrozenMoved,
    FrozenNormsRan,
    GaveUp,
    ModeSet,
    OptimizerBuilt,
    Stepped,
    WeightsGiven,
)
from torch_doctor_rules.judging.evidence import at
from torch_doctor_rules.judging.gradients import fills
from torch_doctor_rules.judging.modes import Modes
from torch_doctor_rules.judging.passes import Passes
from torch_doctor_rules.judging.thawing import Thawing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.rule import Finding
    from torch_doctor.trace import Trace


def changed_norms(trace: Trace) -> Iterator[tuple[FrozenNormsRan, Forward, ModeSet | None]]:
    """The training forwards that change frozen statistics, and the last switch of the mode of all that runs in each."""
    modes = Modes(trace.view(Passes))
    for event in trace.of(FrozenNormsRan):
        forward = next((each for each in trace.at(event.forward) if isinstance(each, Forward)), None)
        changes = event.changed or not trace.observed
        if (
            _thaws(trace, event)
            or not changes
            or forward is None
            or not _trains(trace, forward)
            or _given(trace, event)
        ):
            continue
        mode = modes.last(forward)
        if mode is not None and any(each.thawed is mode for each in trace.view(Thawing).norms()):  # TDR130
            continue
        if trace.observed or not _parts_evaluate(trace, forward, mode):
            yield event, forward, mode


def _thaws(trace: Trace, event: FrozenNormsRan | FrozenMoved) -> bool:
    """Return whether what is frozen is thawed later, or may be where the static run was cut short."""
    return event.thawed or any(cut.index > event.index for cut in trace.of(GaveUp))


def _trains(trace: Trace, forward: Forward) -> bool:
    """Whether what it gave goes into a loss that goes backward, and an optimizer steps after it."""
    losses = [event for event in trace.of(Backward) if fills(event) and trace.together(event, forward)]
    behind = [
        event
        for event in losses
        if forward.index in event.forwards | event.loss.forwards
        or (trace.observed and forward.index < event.index and _in_one_loop(trace, event, forward))
    ]
    return bool(behind) and any(step.index > behind[0].index for step in trace.of(Stepped))


def _in_one_loop(trace: Trace, event: Backward, forward: Forward) -> bool:
    """Whether both belong to the same batches: a loop beside, in the same epoch, evaluates."""
    return trace.common_loop(event, forward) is not None and trace.same_loop(event, forward)


def _parts_evaluate(trace: Trace, forward: Forward, mode: ModeSet | None) -> bool:
    """Whether parts are put into evaluation mode one by one after all was put into training mode: perhaps these."""
    since = -1 if mode is None else mode.index
    between = (each for each in trace.of(ModeSet) if since < each.index < forward.index)
    return any(not each.whole and each.training is not True for each in between)


def _given(trace: Trace, event: FrozenNormsRan) -> bool:
    """Whether the script itself gives frozen parts other weights while it trains."""
    by_hand = [step for step in trace.of(Stepped) if step.manual]
    changes: list[WeightsGiven | Stepped] = [*trace.of(WeightsGiven), *by_hand]
    return any(each.modules & event.parts for each in changes if each.index > event.index)


def moving(trace: Trace) -> Iterator[tuple[FrozenMoved, OptimizerBuilt]]:
    """The steps that move what is frozen, with their optimizers."""
    built = {event.optimizer: event for event in trace.of(OptimizerBuilt)}
    for event in trace.of(FrozenMoved):
        optimizer = built.get(event.optimizer)
        if optimizer is None or _thaws(trace, event) or _unseen(trace, event, optimizer):
            continue
        moves = event.moved if trace.observed else not event.zeroed or optimizer.remembers is True
        if moves:
            yield event, optimizer


def _unseen(trace: Trace, event: FrozenMoved, optimizer: OptimizerBuilt) -> bool:
    """Whether code out of sight got the optimizer or its parameters before, and may have cleared the gradients."""
    return any(
        optimizer.optimizer in each.optimizers or each.modules & optimizer.modules
        for each in trace.of(Escaped)
        if each.index < event.index and not trace.observed
    )


def of_optimizer(trace: Trace, finding: Finding) -> list[FrozenMoved]:
    """What was seen of the frozen parameters of the optimizer that a finding is about."""
    here = {event.optimizer for event in at(trace, finding.site, OptimizerBuilt)}
    return [event for event in trace.of(FrozenMoved) if event.optimizer in here]
