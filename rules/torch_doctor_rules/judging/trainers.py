"""Who trains what a checkpoint holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace import Escaped, Loaded, OptimizerBuilt, StateTaken, Stepped
from torch_doctor_rules.judging.family import Family

if TYPE_CHECKING:
    from torch_doctor.trace import Saved, Trace


def trainer_of(trace: Trace, saved: Saved) -> OptimizerBuilt | None:
    """The optimizer with a memory that surely trains what is saved; none where the file is only read back to evaluate."""
    family = trace.view(Family)
    taken = {event.module for event in trace.of(StateTaken) if event.index in saved.states} | set(saved.modules)
    steps = {event.optimizer: event.index for event in trace.of(Stepped)}
    loading = [event for event in trace.of(Loaded) if not event.pretrained]
    loads = [event.index for event in loading if family.related((event.module,), taken)]
    if loading:  # whoever gets the module after that may load it
        first = loading[0].index
        loads += [
            each.index for each in trace.of(Escaped) if each.index > first and family.related(each.modules, taken)
        ]
    return next(
        (
            built
            for built in trace.of(OptimizerBuilt)
            if built.remembers is True
            and built.optimizer in steps
            and family.related(built.modules, taken)
            and (not loads or min(loads) < steps[built.optimizer])
            and not _made_for_one_pass(built, saved)
        ),
        None,
    )


def _made_for_one_pass(built: OptimizerBuilt, saved: Saved) -> bool:
    """Whether every pass of the loop that saves builds the optimizer anew: what it remembers ends with the pass."""
    made, kept = built.scope.iterations(), saved.scope.iterations()
    return bool(made and kept) and made[-1].loop == kept[-1].loop
