"""TDR501: a running sum retains every graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Figure, Wrap
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule
from torch_doctor.trace import Retention, Trace
from torch_doctor_rules.judging.retained_graphs import alive, growth, in_one_loop, reached, retained
from torch_doctor_rules.judging.wording import message, named, with_method

if TYPE_CHECKING:
    from collections.abc import Iterator


class LossAccumulatedWithGraph(Rule):
    """A running sum adds up losses together with their autograd graphs.

    ## Why is this bad?
    `total += loss` does not add a number: it adds a node to a graph that reaches back to the first batch. Memory grows
    with every step, until the process is killed or CUDA runs out of memory, far away from this line. A moving average
    has the same problem: `average = 0.9 * average + 0.1 * loss` forgets the numbers, but not their graphs.

    ## Example
    ```python
    for epoch in range(2):
        total = 0.0
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss
        print(f"{total / len(loader):.4f}")
    ```

    ## Use instead
    ```diff
             optimizer.step()
    -        total += loss
    +        total += loss.item()
         print(f"{total / len(loader):.4f}")
    ```

    ## How the probe confirms it
    The probe puts a sentinel into the graph of an early loss. If the sentinel is still alive several steps later, the
    finding is confirmed. `.item()` and `.detach()` would have freed it.

    ## When it is not reported
    - `backward()` is called on the sum itself.
    - The value is a number or detached, possibly by the function that returns it, or was computed under `no_grad`.
    - The loop sets the sum to something else now and then.
    - The sum is passed to code that may still call `backward()` on it.
    - The value is a recurrent state that goes back into a module (TDR504).

    Several additions to one sum in one loop are reported once.

    ## References
    - https://docs.pytorch.org/docs/stable/notes/faq.html#my-model-reports-cuda-runtime-error-2-out-of-memory
    - https://docs.pytorch.org/docs/stable/generated/torch.Tensor.item.html
    """

    code = "TDR501"
    name = "loss-accumulated-with-graph"
    level = Level.ERROR
    witness = "SP"
    inside = True
    shown_by = "second batch that stores a value here"
    fix = Fix.SAFE
    fix_changes = frozenset[Figure]()
    only_confirms = True  # a run that ends before the holder is emptied looks the same

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every running sum over batches that never goes backward."""
        for kept in retained(trace, Retention.ACCUMULATED):
            name = named(kept.value.name, "a loss")
            yield self.finding(
                kept.site,
                message(
                    "`{holder}` accumulates `{value}` with its graph: memory grows with every batch",
                    holder=kept.holder,
                    value=name,
                ),
                help=with_method("add the value without its graph", name, "detach"),
                trail=growth(trace, kept),
                cause=in_one_loop(kept),
                edits=[Wrap(kept.site, "{}.detach()", summand=True)],
            )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether the graphs were gone, or needed."""
        return reached(trace, finding)

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How many graphs were alive."""
        return alive(trace, finding)
