"""TDR502: a container retains every graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Figure, Wrap
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule
from torch_doctor.trace import Retained, Retention, Trace
from torch_doctor_rules.judging.retained_graphs import alive, growth, in_one_loop, reached, retained
from torch_doctor_rules.judging.wording import message, with_method

if TYPE_CHECKING:
    from collections.abc import Iterator


class GraphKeptInContainer(Rule):
    """A container collects tensors together with their autograd graphs, batch after batch.

    ## Why is this bad?
    A tensor that the model computed holds its graph, with all activations that were not freed. A list of losses or
    outputs retains one graph for every batch: memory grows with every step, often for numbers that are only plotted.

    ## Example
    ```python
    losses = []
    for epoch in range(2):
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            losses.append(loss)
    print(f"{losses[-1]:.4f}")
    ```

    ## Use instead
    ```diff
             optimizer.step()
    -        losses.append(loss)
    +        losses.append(loss.item())
     print(f"{losses[-1]:.4f}")
    ```

    ## How the probe confirms it
    The probe puts a sentinel into the graph of an early value. If the sentinel is still alive several steps later, the
    finding is confirmed. `.item()` and `.detach()` would have freed it.

    ## When it is not reported
    - The collected values are used in a backward pass (returns of an episode, losses of a window).
    - The values are discarded with the update.
    - The loop empties the container, even if only now and then, or the container drops old values
      (`deque(maxlen=...)`).
    - The values are numbers or detached, or were computed under `no_grad`.

    Several values that one container collects in one loop are reported once.

    ## References
    - https://docs.pytorch.org/docs/stable/notes/faq.html#my-model-reports-cuda-runtime-error-2-out-of-memory
    - https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach.html
    """

    code = "TDR502"
    name = "graph-kept-in-container"
    level = Level.ERROR
    witness = "SP"
    shown_by = "second batch that stores a value here"
    fix = Fix.SAFE
    fix_changes = frozenset[Figure]()
    only_confirms = True  # a run that ends before the holder is emptied looks the same

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every container or tensor that collects graphs over batches."""
        for kept in retained(trace, Retention.APPENDED, Retention.STORED, Retention.CONCATENATED):
            if kept.how is not Retention.STORED or not kept.value.retained & kept.carries:  # else a recurrent state
                yield self._report(trace, kept)

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether the graphs were gone, or needed."""
        return reached(trace, finding)

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How many graphs were alive."""
        return alive(trace, finding)

    def _report(self, trace: Trace, kept: Retained) -> Finding:
        value = "`{value}` with its graph" if kept.value.name else "values with their graphs"
        number = "{}.detach()"  # `.item()` would break what goes on with a tensor
        return self.finding(
            kept.site,
            message(
                "`{holder}` stores " + value + ": memory grows with every batch",
                holder=kept.holder,
                value=kept.value.name,
            ),
            help=with_method("store the value without its graph", kept.value.name, "detach")
            + ", or `.item()` for the number" * (kept.value.scalar is True),
            trail=growth(trace, kept),
            cause=in_one_loop(kept),
            edits=[Wrap(kept.site, number, expected=kept.value.name)] if kept.value.name else [],
        )
