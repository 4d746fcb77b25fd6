"""Stored states of modules: the steps that overwrite them, and what uses them after that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace import Escaped, Loaded, Moved, Saved, StateTaken, Stepped, claims
from torch_doctor_rules.judging.evidence import number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Trace


def overwritten(
    trace: Trace, taken: StateTaken, *, alone: bool = False
) -> Iterator[tuple[Stepped | None, Loaded | Saved | None]]:
    """Yield a step of the module after its state was taken, and the use of the state after that; at most one such pair.

    That may be the use of the state that was stored in its place. `alone`: nothing but what a run shows by itself.
    """
    steps = steps_after(trace, taken)
    if not steps:
        if (back := _given_back(trace, taken)) is not None:
            yield None, back
        return
    if _left_behind(trace, taken, steps[0]):
        return
    if taken.alias:
        inner = [step for step in steps if _goes_on(taken, step) and trace.together(taken, step)]
        if inner and not alone:  # only the source shows whether anybody reads it later
            yield inner[0], None
        return
    uses: list[Loaded | Saved] = [*trace.of(Loaded), *trace.of(Saved)]
    for use in uses:
        used = taken.index in use.states or (not alone and _replaced(trace, taken, use))
        if used and steps[0].index < use.index and _certain(trace, taken, use):
            yield steps[0], use
            return


def _left_behind(trace: Trace, taken: StateTaken, step: Stepped) -> bool:
    """Whether the module was moved in between, or may have been: the state keeps the tensors where it was."""
    moves = [move for move in trace.of(Moved) if move.module == taken.module and move.index < step.index]
    before = next((move.device for move in reversed(moves) if move.index < taken.index), "cpu")
    return not taken.alias and any(move.device != before for move in moves if move.index > taken.index)


def _goes_on(taken: StateTaken, step: Stepped) -> bool:
    """Whether the step is in the innermost loop in which the model was kept: one that chooses among several is over then."""
    around = taken.scope.iterations()[-1:]
    return any(each.loop == scope.loop for scope in around for each in step.scope.iterations())


def _replaced(trace: Trace, taken: StateTaken, use: Loaded | Saved) -> bool:
    """Whether a run overwrote a state while it was stored, and then used the one that was stored in its place."""
    if not trace.observed or not number(trace, claims.STATE_OVERWRITTEN, taken):
        return False
    used = (each for each in trace.at(*use.states) if isinstance(each, StateTaken))
    return any(each.site == taken.site and each.module == taken.module for each in used)


def _given_back(trace: Trace, taken: StateTaken) -> Loaded | None:
    """Where a function whose callers train the module gives it a state back that an earlier call has taken."""
    if not trace.begins_outside or taken.alias or trace.of(Stepped):
        return None
    for use in trace.of(Loaded):
        later_call = taken.index in use.states and taken.index < use.index and not taken.guards <= use.guards
        escaped = any(taken.module in event.modules for event in trace.between(taken, use, Escaped))
        if later_call and use.module == taken.module and not escaped:
            return use
    return None


def _certain(trace: Trace, taken: StateTaken, use: Loaded | Saved) -> bool:
    """Whether the state stands for a choice that training made, or is surely what is used."""
    loop = any(trace.common_loop(taken, step) for step in steps_after(trace, taken))
    return loop or (isinstance(use, Loaded) and use.only and len(use.states) == 1)


def steps_after(trace: Trace, taken: StateTaken) -> list[Stepped]:
    """Return the steps that change the module after its state was taken."""
    return [step for step in trace.of(Stepped) if step.index > taken.index and taken.module in step.modules]
