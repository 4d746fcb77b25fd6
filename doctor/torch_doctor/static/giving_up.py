"""What a run that ends too early leaves behind: from there on everything may have happened."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.values import Module, Optimizer, ParameterValue
from torch_doctor.trace import Escaped, GaveUp

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.trace import Guards, Scope, Site, Trace


def lose(run: Run, reason: str) -> None:
    """Write that the run was given up and that everything is out of sight from here."""
    run.heap.set(run.state.fields, "grad", None)  # it may have been within a context
    trace = run.trace
    last = trace.events[-1] if trace.events else None
    site = last.site if last is not None else run.main.site((1, 1, 1, 1))
    scope = run.scope
    at(trace, site, scope, frozenset(), reason)
    objects = run.objects
    numbers = frozenset(event.index for event in trace.events)
    trace.add(
        Escaped(
            site=site,
            scope=scope,
            to="unresolved code",
            optimizers=frozenset(thing.id for thing in objects.of(Optimizer)),
            modules=frozenset(thing.id for kind in (Module, ParameterValue) for thing in objects.of(kind)),
            forwards=numbers,
            retained=numbers,
        )
    )


def at(trace: Trace, site: Site, scope: Scope, guards: Guards, reason: str) -> None:
    """Write that something at a place is not followed any further."""
    trace.add(GaveUp(site=site, scope=scope, guards=guards, index=trace.next, reason=reason))


def passed_over(run: Run, trace: Trace, names: list[str]) -> Trace:
    """Write that nobody calls these functions and classes, and that no steps are left to run them."""
    others = f" and {len(names) - 1} more" if len(names) > 1 else ""
    reason = f"`{names[0]}`{others} was not analyzed: it is never called, and the file used up its step limit"
    trace.add(GaveUp(site=run.main.site((1, 1, 1, 1)), scope=run.scope, reason=reason))
    return trace


def gave_up(trace: Trace) -> bool:
    """Whether something in a run is not followed any further."""
    return bool(trace.of(GaveUp))
