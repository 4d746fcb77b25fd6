"""Graphs that are carried from one pass of a training loop into the next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace import Backward, Forward, LoopKind

if TYPE_CHECKING:
    from torch_doctor.trace import Trace

REFUSED = ("backward through the graph a second time", "modified by an inplace operation")
"""What torch says when a graph was freed by the pass before, or its parameters were changed by a step since."""


def carrying(trace: Trace) -> list[tuple[Forward, Backward]]:
    """The forwards whose results went backward and are still in the graph of a loss of a later pass, each with that loss."""
    found = []
    backwards = [event for event in trace.of(Backward) if event.through == "backward" and event.loss.graph_forwards]
    for position, later in enumerate(backwards):
        for earlier in backwards[:position]:
            loop = trace.common_loop(later, earlier)
            if loop is None or trace.same_iteration(later, earlier) or loop.loop_kind is LoopKind.COUNTED:
                continue
            if not trace.together(earlier, later) or not trace.implies(earlier, later):
                continue
            shared = [
                event
                for event in trace.at(*sorted(earlier.loss.graph_forwards & later.loss.graph_forwards))
                if isinstance(event, Forward)
                and trace.same_iteration(event, earlier)
                and trace.common_loop(event, later)
            ]
            own = [event for event in trace.at(*later.loss.graph_forwards) if trace.same_iteration(event, later)]
            if shared and own and loop in later.scope.iterations()[-1:]:
                found.append((shared[-1], later))
    return found
