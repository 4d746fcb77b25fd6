"""TDR506: an object retains the graph of every step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule
from torch_doctor.trace import MemoryGrew, Trace
from torch_doctor_rules.judging.evidence import count, fact, size
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator


class MemoryGrowsPerStep(Rule):
    """The graph of every step stays alive, so memory grows until it runs out.

    ## Why is this bad?
    A result that requires gradients holds the graph that created it. A loss, an output or any value computed from them
    that is stored with its graph retains the activations and nodes of its step. The run needs more memory with every
    batch and fails after hours, first on the GPU.

    ## Example
    ```python
    import heapq

    net, hardest = nn.Linear(4, 1), []
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(100):
        prediction = net(torch.randn(16, 4))
        loss = prediction.pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        heapq.heappush(hardest, (-loss.item(), step, prediction))
    ```

    ## Use instead
    ```diff
         optimizer.step()
    -    heapq.heappush(hardest, (-loss.item(), step, prediction))
    +    heapq.heappush(hardest, (-loss.item(), step, prediction.detach()))
    ```

    ## How the probe confirms it
    The probe attaches a marker to every output and every loss; it lives as long as their graph. If each of at least
    five passes has a marker that is still alive, the probe looks up the object that holds the oldest one. It then
    traces the lines of the next pass until one of them adds to that object.

    ## When it is not reported
    - The graph of any pass was freed.
    - The object that holds the graphs drops old values (`deque(maxlen=...)`, `pop`, a slice), or is reset under a
      condition.
    - The object that holds the graphs cannot be identified.
    - TDR501, TDR502, TDR504 or TDR505 reports the same with more detail.

    ## References
    - https://docs.pytorch.org/docs/stable/notes/faq.html#my-model-reports-cuda-runtime-error-2-out-of-memory
    """

    code = "TDR506"
    name = "memory-grows-per-step"
    level = Level.ERROR
    witness = "P"
    needs = frozenset({"growth"})
    explained_by = frozenset({"TDR501", "TDR502", "TDR504", "TDR505"})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every line that keeps the graphs of all passes."""
        for grew in trace.of(MemoryGrew):
            yield self.finding(
                grew.site,
                message(
                    "`{holder}` retains the graph of every step: memory grows until it runs out", holder=grew.holder
                ),
                help="store the number (`.item()`) or the detached value (`.detach()`)",
            )

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How many graphs were alive, and what each takes."""
        for grew in trace.of(MemoryGrew):
            if grew.site == finding.site:
                weight = f", {size(grew.size)} each" if grew.size else ""
                text = f"{count(grew.alive, 'graph')} alive after {count(grew.passes, 'step')}{weight}"
                yield fact(text, grew.alive, "graphs", grew)
