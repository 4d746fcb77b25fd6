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
    "batch": "the input of `{name}` is {value}: its loss and its gradients are unusable",
    "activation": "`{operation}` returns a value that is {value}: everything computed from it is invalid",
    "loss": "the loss is {value}: its gradients destroy the parameters",
    "gradient": "`{name}` is finite, but its gradients are {value}: the next step destroys the parameters",
    "derivative": "the derivative of `{operation}` is {value} here: the next step destroys the parameters",
    "parameter": "parameters are {value} after the step: everything computed from them is invalid",
}


class NonFiniteValue(Rule):
    """A value becomes NaN or infinite, which invalidates everything computed from it.

    ## Why is this bad?
    NaN spreads: one NaN in a batch, an activation or the loss makes every gradient NaN, and one step makes every
    parameter NaN. The script continues without an exception. Typical causes are the logarithm or square root of zero,
    a division by zero, an overflow of `exp`, a learning rate that is far too high, and missing values in the data.

    ## Example
    ```python
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
    ```diff
             positive = torch.relu(self.linear(x))
    -        return torch.log(positive - positive)
    +        return torch.log(positive + 1e-6)
    ```

    ## How the probe confirms it
    The probe checks batches, outputs, losses, gradients and parameters until one is not finite. If the output of a
    model is not finite but its input is, the probe runs a copy of the model again, operation by operation, and reports
    the line of the first operation whose result is not finite. If only the gradients are not finite, it uses the nodes
    of the copy's graph to find the operation whose derivative is not.

    ## When it is not reported
    - Infinities serve as a mask (`masked_fill` before a softmax), and the model's output is finite.
    - The values go neither backward nor into a score, such as batches that the script skips.
    - A gradient scaler checks the gradients.
    - The data or the weights are synthetic.

    ## References
    - https://docs.pytorch.org/docs/stable/notes/numerical_accuracy.html
    - https://docs.pytorch.org/docs/stable/autograd.html#anomaly-detection
    """

    code = "TDR120"
    name = "non-finite-value"
    level = Level.ERROR
    witness = "P"
    needs = frozenset({"finite"})
    explained_by = frozenset({"TDR210", "TDR219", "TDR321", "TDR715"})
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
                help="keep arguments of logarithms, roots and divisions away from zero; check the data and the learning rate",
            )

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """When it was first seen."""
        for seen in trace.of(NonFinite)[:1]:
            if seen.site != finding.site:
                return
            yield fact(
                f"{WORDS[seen.value]} first seen in the {seen.what} after {count(seen.step, 'optimizer step')}",
                seen.step,
                "steps",
                seen,
            )
