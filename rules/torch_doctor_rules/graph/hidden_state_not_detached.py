"""TDR504: a recurrent state carries the graph of all earlier batches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Detach, Figure, Keyword
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule, Step
from torch_doctor.trace import Backward, Forward, Trace
from torch_doctor_rules.judging.carried_graphs import carrying
from torch_doctor_rules.judging.evidence import at, count, fact
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

REFUSED = ("backward through the graph a second time", "modified by an inplace operation")
"""What torch says when a graph was freed by the pass before, or its parameters were changed by a step since."""

PARTS = {"LSTM": True, "GRU": False, "RNN": False}
"""Whether the state of torch's layers has several parts."""


class HiddenStateNotDetached(Rule):
    """A recurrent state is carried from batch to batch together with its autograd graph.

    ## Why is this bad?
    The loss of the second batch goes backward through the first batch again. torch raises an error, because that graph
    has been freed. If `retain_graph=True` hides the error, every step goes back through all earlier batches, slower
    each time, until torch raises an error because a step has changed the parameters.

    ## Example
    ```python
    rnn, head = nn.GRU(4, 8, batch_first=True), nn.Linear(8, 1)
    optimizer = torch.optim.SGD([*rnn.parameters(), *head.parameters()], lr=0.1)
    state = torch.zeros(1, 16, 8)
    for step in range(10):
        x = torch.randn(16, 5, 4)
        out, state = rnn(x, state)
        loss = nn.functional.mse_loss(head(out[:, -1]), x[:, -1, :1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Use instead
    ```diff
         x = torch.randn(16, 5, 4)
    -    out, state = rnn(x, state)
    +    out, state = rnn(x, state.detach())
         loss = nn.functional.mse_loss(head(out[:, -1]), x[:, -1, :1])
    ```

    ## Fix safety
    The fix is unsafe: gradients no longer reach earlier batches. It detaches the state before the call that takes and
    returns it, and removes `retain_graph=True`.

    ## How the probe confirms it
    The graph behind the loss of a batch contains the forward pass of an earlier batch, or torch refuses to go through
    it again.

    ## When it is not reported
    - The state is detached, possibly by a function that does so for tuples.
    - The state is reset for each batch.
    - Several iterations of a loop contribute to one loss on purpose.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach.html
    - https://docs.pytorch.org/docs/stable/notes/faq.html#my-model-reports-cuda-runtime-error-2-out-of-memory
    """

    code = "TDR504"
    name = "hidden-state-not-detached"
    level = Level.ERROR
    witness = "SP"
    voided_by = frozenset({"inside"})
    shown_by = "second batch with a backward pass"
    fix = Fix.UNSAFE
    fix_changes = frozenset({Figure.GRADIENTS, Figure.UPDATES})
    only_confirms = True

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every forward whose result is in the graph of a later batch's loss."""
        found = carrying(trace) or _refused(trace)
        yield from first_per_site(self._report(forward, later) for forward, later in found)

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether at least two batches went through there, each with a graph of its own."""
        forwards = at(trace, finding.site, Forward)
        return len(forwards) > 1 and len(trace.of(Backward)) > 1

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How many batches the graph of a loss reaches back."""
        last = [later for forward, later in carrying(trace) if forward.site == finding.site][-1:]
        for later in last:
            passes = len([event for event in trace.at(*later.loss.graph_forwards) if event.site == finding.site])
            yield fact(
                f"the graph of one loss goes back through {count(passes, 'batch', 'batches')}", passes, "batches", later
            )
        if not last and _refused(trace) and trace.run is not None:
            passes = len(at(trace, finding.site, Forward))
            yield fact(
                f"torch raises an error at batch {passes}: {trace.run.end.exception.partition('. ')[0][:90]}",
                passes,
                "batches",
            )

    def _report(self, forward: Forward, later: Backward) -> Finding:
        text = "the state of `{name}` carries this batch's graph into the next: `backward()` fails or slows down"
        return self.finding(
            forward.site,
            message(text, name=forward.name),
            help="call `.detach()` on the state before the next batch",
            trail=[Step(later.site, "the next batch's backward pass goes through it again")],
            edits=[
                Detach(forward.site, PARTS.get(forward.class_name.rpartition(".")[2])),
                *([] if later.retained_at is None else [Keyword(later.retained_at, "retain_graph")]),
            ],
        )


def _refused(trace: Trace) -> list[tuple[Forward, Backward]]:
    """Where torch refused the second batch: the forwards of the first, whose states it was given."""
    said = trace.run.end.exception if trace.run is not None else ""
    if not any(text in said for text in REFUSED) or not trace.of(Backward):
        return []
    first = trace.of(Backward)[-1]
    return [(event, first) for event in trace.at(*first.loss.graph_forwards) if isinstance(event, Forward)]
