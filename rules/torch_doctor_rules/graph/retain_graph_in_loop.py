"""TDR503: a graph is retained for a second backward pass that never happens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Figure, Keyword
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule, Step, same_place
from torch_doctor.trace import Backward, Escaped, GaveUp, Retained, StateKept, Trace, claims
from torch_doctor_rules.judging.carried_graphs import carrying
from torch_doctor_rules.judging.evidence import count, counted, fact
from torch_doctor_rules.judging.wording import message, owner

if TYPE_CHECKING:
    from collections.abc import Iterator


class RetainGraphInLoop(Rule):
    """`retain_graph=True` is passed to the only backward pass through a graph, in a loop.

    ## Why is this bad?
    After `backward()`, the activations of the graph are freed. `retain_graph=True` keeps them for a second pass
    through the same graph. If there is no second pass, each step needs the memory of two.

    ## Example
    ```python
    net = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(10):
        x = torch.randn(16, 4)
        loss = nn.functional.mse_loss(net(x), x[:, :1])
        optimizer.zero_grad()
        loss.backward(retain_graph=True)
        optimizer.step()
    ```

    ## Use instead
    ```diff
         optimizer.zero_grad()
    -    loss.backward(retain_graph=True)
    +    loss.backward()
         optimizer.step()
    ```

    ## How the probe confirms it
    No later backward pass goes through any part of the retained graph.

    ## When it is not reported
    - Another loss shares the graph, or a parameter that both losses use directly.
    - The graph reaches back before the current iteration (style transfer; recurrent states of this loop are TDR504).
    - A module stores what it computed for its next call.
    - `create_graph` is set.
    - The loss is passed to unresolved code.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.Tensor.backward.html
    """

    code = "TDR503"
    name = "retain-graph-in-loop"
    level = Level.WARNING
    witness = "SP"
    voided_by = frozenset({"inside"})
    fix = Fix.UNSAFE
    fix_changes = frozenset[Figure]()
    only_confirms = True  # which tensors outside of modules two losses share, only the source tells
    explained_by = frozenset({"TDR504"})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every graph that is retained in vain."""
        retaining = [event for event in trace.of(Backward) if event.retained_at is not None]
        needed = {event.retained_at for event in retaining if not _in_vain(trace, event)}
        for event in {event.retained_at: event for event in retaining}.values():
            if event.retained_at is not None and event.retained_at not in needed:
                text = (
                    "the graph of `{name}` is retained for a second backward pass that never happens: it wastes memory"
                )
                yield self.finding(
                    event.retained_at,
                    message(text, name=owner(event.name, "backward", "the loss")),
                    help="remove `retain_graph=True`",
                    trail=[Step(event.site, "this is the only backward pass through this graph")],
                    edits=[Keyword(event.retained_at, "retain_graph")],
                )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether the graph was retained there, and another pass went through it."""
        retaining = [event for event in trace.of(Backward) if _is_at(event, finding)]
        return any(_shared(trace, event) or _seen_again(trace, event) for event in retaining) or (
            bool(retaining) and "the probe run ended before the next backward pass"
        )

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How many graphs were retained, and how many were used again."""
        retaining = [event for event in trace.of(Backward) if _is_at(event, finding)]
        again = sum(_shared(trace, event) for event in retaining)
        again = max(again, counted(trace, finding.site, claims.GRAPHS_USED_AGAIN))
        text = f"{count(len(retaining), 'graph')} retained, {again} of them used again"
        yield from [fact(text, again, "graphs", retaining[0])] if retaining else []


def _is_at(event: Backward, finding: Finding) -> bool:
    return event.retained_at is not None and same_place(event.retained_at, finding.site)


def _in_vain(trace: Trace, backward: Backward) -> bool:
    graph = backward.loss.graph_forwards
    own = backward.scope.iterations()[-1:]
    inside = all(own[0] in event.scope.iterations() for event in trace.at(*graph)) if own else False
    known = backward.whole and backward.loss.graph is not False and backward.through == "backward"
    kept = any(graph & event.value.graph_forwards for event in trace.of(Retained))
    lost = any(
        (kept or trace.same_phase(event, backward))
        and (isinstance(event, GaveUp) or (isinstance(event, Escaped) and graph & event.forwards))
        for event in trace.after(backward)
    )
    carried = any(trace.same_loop(later, backward) for _, later in carrying(trace)) or bool(trace.of(StateKept))
    needed = _shared(trace, backward) or _seen_again(trace, backward)
    return bool(graph) and inside and known and not (lost or needed or carried)


def _seen_again(trace: Trace, backward: Backward) -> bool:
    """Whether a later pass of the probe run went through nodes of a graph that was kept there."""
    return backward.retained_at is not None and counted(trace, backward.retained_at, claims.GRAPHS_USED_AGAIN) > 0


def _shared(trace: Trace, backward: Backward) -> bool:
    """Whether another backward pass goes through some of the graph, or may: it ends in the same tensors as this one."""
    graph, own = backward.loss.graph_forwards, backward.scope.iterations()[-1:]
    return any(
        graph & (event.loss.graph_forwards | event.forwards)
        or (backward.direct & event.direct and set(own) <= set(event.scope.iterations()))
        for event in trace.of(Backward)
        if event.index > backward.index
    )
