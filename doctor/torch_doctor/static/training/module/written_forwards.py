"""What the trace has of forwards: those of some numbers, the last one, and those whose result nobody takes."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from msgspec.structs import replace

from torch_doctor.static.flow import blend
from torch_doctor.static.values import Const, ParameterValue, Plain
from torch_doctor.trace import Forward, Owned, TensorFact

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Args


def numbered(run: Run, numbers: Iterable[int]) -> list[Forward]:
    """The forwards of these numbers, in order."""
    return [event for event in run.trace.at(*sorted(numbers)) if isinstance(event, Forward)]


def last(run: Run) -> Forward | None:
    """The forward that was written last."""
    forwards = run.trace.of(Forward)
    return forwards[-1] if forwards else None


def under_way(run: Run) -> frozenset[int]:
    """The number of the forward that is being executed, the outermost one."""
    whole = run.modules_called[:1]
    called = (event.index for event in reversed(run.trace.of(Forward)) if whole and event.module == whole[0].id)
    return frozenset(islice(called, 1))


def dropped(run: Run, before: int, call: p.Call) -> None:
    """Say of a forward that this call made since event `before` that nobody takes its result; a framework takes its own."""
    site, events = run.site(call), run.trace.events[before:]
    owned = any(isinstance(event, Owned) and event.site == site for event in events)
    for event in events if not owned else ():
        if isinstance(event, Forward) and event.site == site:
            run.trace.replace(event, used=False)


def input_fact(run: Run, values: Args) -> TensorFact:
    """What is known of the first tensor that a module gets, and of what went into any of them."""
    flow = blend(value.flow for value in values)
    first = next((value for value in values if not isinstance(value, (Const, Plain))), None)
    fact = run.fact(first) if first is not None else TensorFact()
    behind = (run.objects.get(number) for number in flow.modules)
    leaf = any(isinstance(each, ParameterValue) and not each.declared for each in behind)
    return replace(fact, source=flow.source, forwards=flow.forwards, graph=flow.graph, loader=flow.loader, leaf=leaf)
