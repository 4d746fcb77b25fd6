"""Graphs that are carried from one pass of a training loop into the next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace import Backward, Forward, LoopKind, Stepped

if TYPE_CHECKING:
    from torch_doctor.trace import Trace


def carrying(trace: Trace) -> list[tuple[Forward, Backward]]:
    """The forwards whose results went backward and are still in the graph of a loss of a later pass, each with that loss."""
    found = []
    backwards = [event for event in trace.of(Backward) if event.through == "backward" and event.loss.graph_forwards]
    by_forward: dict[tuple[int, int], list[int]] = {}  # the places of those that a forward led to in a loop
    for place, later in enumerate(backwards):
        around = later.scope.iterations()
        if not around:
            continue
        outermost = around[0].loop
        own = [event for event in trace.at(*sorted(later.loss.graph_forwards)) if isinstance(event, Forward)]
        sharing = {each for event in own for each in by_forward.get((outermost, event.index), ())}
        for earlier in (backwards[each] for each in sorted(sharing)):
            loop = trace.common_loop(later, earlier)
            before = [scope for scope in earlier.scope.iterations() if loop is not None and scope.loop == loop.loop]
            if loop is None or not before or before[0] is loop or loop.loop_kind is LoopKind.COUNTED:
                continue
            if not (trace.together(earlier, later) and trace.implies(earlier, later)):
                continue
            if not any(trace.between(earlier, later, Stepped)):
                continue  # nobody trains: layers are applied again and again, and looked at in between
            now = [event for event in own if loop in event.scope.iterations()]
            for event in own:
                carried = event.index in earlier.loss.graph_forwards and before[0] in event.scope.iterations()
                if carried and now and (trace.observed or any(_gets(each, event) for each in now)):
                    found.append((event, later))
        for index in later.loss.graph_forwards:
            by_forward.setdefault((outermost, index), []).append(place)
    return found


def _gets(forward: Forward, earlier: Forward) -> bool:
    """Whether a module is given what it returned itself before, surely with its graph."""
    return forward.module == earlier.module and earlier.index in forward.given and forward.inputs.graph is True
