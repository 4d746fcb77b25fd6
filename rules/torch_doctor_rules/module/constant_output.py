"""TDR313: a model gives the same output for every input."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule
from torch_doctor.trace import OutputConstant, Trace
from torch_doctor_rules.judging.evidence import count, fact
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

ROWS, UPDATES = 8, 2  # at least


class ConstantOutput(Rule):
    """The model gives the same output for different inputs.

    ## Why is this bad?
    The input does not reach the output: something in between is zero or discarded. The model learns a single constant.
    A loss that falls slightly to the best constant looks like training.

    ## Example
    ```python
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.hidden, self.head = nn.Linear(4, 8), nn.Linear(8, 1)

        def forward(self, x):
            return self.head(torch.tanh(self.hidden(x)).mean(dim=0).expand(len(x), -1))


    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(6):
        optimizer.zero_grad()
        nn.functional.mse_loss(net(torch.randn(16, 4)), torch.randn(16, 1)).backward()
        optimizer.step()
    ```

    ## Use instead
    ```diff
         def forward(self, x):
    -        return self.head(torch.tanh(self.hidden(x)).mean(dim=0).expand(len(x), -1))
    +        return self.head(torch.tanh(self.hidden(x)))
    ```

    ## How the probe confirms it
    After two updates the probe compares the outputs for all samples of a batch whose inputs differ: all are the same, up to
    rounding. Where dropout changes the outputs of training, those of evaluation decide: the script's own, and those of
    a copy of the model in evaluation mode.

    ## When it is not reported
    - Before the second update, as a head that is initialized with zeros gives equal outputs at first.
    - For outputs of a single sample, and for equal inputs, unless a loader yields them with targets that differ: then
      something has removed the differences before the model, such as `pixels // 255`.
    - If another finding explains it.

    ## References
    - https://docs.pytorch.org/docs/stable/nn.init.html
    """

    code = "TDR313"
    name = "constant-output"
    level = Level.ERROR
    witness = "P"
    needs = frozenset({"units"})
    voided_by = frozenset({"shapes", "inside"})
    explained_by = frozenset(
        {
            "TDR104",
            "TDR105",
            "TDR113",
            "TDR114",
            "TDR115",
            "TDR118",
            "TDR119",
            "TDR120",
            "TDR213",
            "TDR304",
            "TDR309",
            "TDR312",
            "TDR321",
            "TDR709",
            "TDR715",
        }
    )

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every model that answered alike to all that it was asked."""
        for seen in trace.of(OutputConstant):
            if seen.rows < ROWS or seen.updates < UPDATES:
                continue
            text = "`{name}` gives the same output for every input: the input does not reach the output"
            remedy = "look for mixed-up dimensions, dead activations, or a part that is multiplied by zero"
            if seen.same_input:
                if trace.run is not None and trace.run.voids("values"):
                    continue  # somebody else's data are not those of the script
                text = "`{name}` gets the same input for every sample, and gives the same output"
                remedy = "look for what removes the differences of the samples, such as an integer division"
            yield self.finding(seen.site, message(text, name=seen.name), help=remedy)

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """In how many rows."""
        for seen in trace.of(OutputConstant):
            if seen.site == finding.site:
                text = f"{count(seen.rows, 'sample')} of {count(seen.batches, 'batch', 'batches')} got the same output"
                yield fact(text, seen.rows, "samples", seen)
