"""TDR120: the first value that is not finite."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule
from torch_doctor.trace import NonFinite, Trace
from torch_doctor_rules.judging.evidence import count, fact
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

WORDS = {"nan": "NaN", "inf": "infinite"}
TEXTS = {
    "batch": "what comes into `{name}` is {value}: no loss and no gradient of it can be used",
    "activation": "`{operation}` makes a value that is {value}: all that is computed from it is lost",
    "loss": "the loss is {value}: its gradients destroy the parameters",
    "gradient": "the gradients of `{name}` are {value}, though it is finite: the next step destroys the parameters",
    "derivative": "the derivative of `{operation}` is {value} here: the next step destroys the parameters",
    "parameter": "parameters are {value} after the step: nothing that is computed from them is a number",
}


class NonFiniteValue(Rule):
    """A value becomes NaN or infinite, and everything after it is lost.

    ## Why is this bad?
    NaN spreads: one in a batch, an activation or the loss makes every gradient NaN, and one step makes every parameter NaN.
    The script goes on without an exception. Typical births: the logarithm or square root of zero, a division by zero, an
    overflow of `exp`, a learning rate that is far too high, missing values in the data.

    ## Example
    ```python
    import torch
    from torch import nn


    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(4, 3)

        def forward(self, x):
            positive = torch.relu(self.linear(x))
            return torch.log(positive - positive)


    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(4):
        optimizer.zero_grad()
        net(torch.randn(16, 4)).mean().backward()
        optimizer.step()
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn


    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(4, 3)

        def forward(self, x):
            positive = torch.relu(self.linear(x))
            return torch.log(positive + 1e-6)


    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(4):
        optimizer.zero_grad()
        net(torch.randn(16, 4)).mean().backward()
        optimizer.step()
    ```

    ## How the probe confirms it
    It looks at batches, outputs, losses, gradients and parameters until one is not finite. A model whose output is not,
    though its input is, runs once more on a copy, operation by operation: the first one that makes such a value has the line.
    So does the one whose derivative is not finite, where only the gradients are not: the nodes of the copy's graph tell.

    ## When it is not reported
    For infinities that mask (`masked_fill` before a softmax) as long as the model's answer is finite, for what goes neither
    backward nor into a score (batches that the script leaves out), for gradients that a gradient scaler takes notice of, and
    where data or weights are made up.

    ## References
    - https://docs.pytorch.org/docs/stable/notes/numerical_accuracy.html
    - https://docs.pytorch.org/docs/stable/autograd.html#anomaly-detection
    """

    code = "TDR120"
    name = "non-finite-value"
    level = Level.ERROR
    witness = "P"
    needs = frozenset({"finite"})
    explained_by = frozenset({"TDR210"})
    voided_by = frozenset({"values", "weights", "files", "inside"})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """The first value that is not finite."""
        for seen in trace.of(NonFinite)[:1]:
            yield self.finding(
                seen.site,
                message(
                    TEXTS["derivative" if seen.what == "gradient" and seen.operation else seen.what],
                    name=seen.name,
                    value=WORDS[seen.value],
                    operation=seen.operation or seen.name,
                ),
                help="keep arguments of logarithms, roots and divisions away from zero; look at the data and the learning rate",
            )

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """When it was first seen."""
        for seen in trace.of(NonFinite)[:1]:
            if seen.site != finding.site:
                return
            yield fact(
                f"{WORDS[seen.value]} first seen in the {seen.what} after {count(seen.step, 'update')}",
                seen.step,
                "updates",
                seen,
            )
