"""TDR506: something keeps a graph of every step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule
from torch_doctor.trace import MemoryGrew, Trace
from torch_doctor_rules.judging.evidence import count, fact, size
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator


class MemoryGrowsPerStep(Rule):
    """The graph of every step stays alive, so that memory grows until there is none.

    ## Why is this bad?
    Every result that requires gradients hangs on the graph that made it. A loss, an output or anything computed from them
    that is stored with its graph keeps the activations and nodes of its step: the run needs more memory with every batch
    and dies after hours, on the GPU first.

    ## Example
    ```python
    import heapq

    import torch
    from torch import nn

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
    ```python
    import heapq

    import torch
    from torch import nn

    net, hardest = nn.Linear(4, 1), []
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(100):
        prediction = net(torch.randn(16, 4))
        loss = prediction.pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        heapq.heappush(hardest, (-loss.item(), step, prediction.detach()))
    ```

    ## How the probe confirms it
    Every output and every loss gets a mark that lives as long as its graph. When of all passes, five at least, some mark is
    alive, what holds the oldest one is looked up, and the lines of the next pass are followed until one puts something in.

    ## When it is not reported
    When any pass was let go of, when what holds the graphs drops old values (`deque(maxlen=...)`, `pop`, a slice) or is set
    back under a condition, when nobody can be named who holds them, and where TDR501, TDR502 or TDR504 say the same with
    more detail.

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
                    "`{holder}` keeps the graph of every step: memory grows until there is none", holder=grew.holder
                ),
                help="keep the number (`.item()`) or the detached value (`.detach()`)",
            )

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How many graphs were alive, and what each takes."""
        for grew in trace.of(MemoryGrew):
            if grew.site == finding.site:
                weight = f", {size(grew.size)} each" if grew.size else ""
                text = f"{count(grew.alive, 'graph')} alive after {count(grew.passes, 'step')}{weight}"
                yield fact(text, grew.alive, "graphs", grew)
