"""TDR202: log-softmax is applied twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Figure, Unwrap
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule
from torch_doctor.trace import Kind, Trace
from torch_doctor_rules.judging.loss_inputs import (
    CROSS_ENTROPY,
    at_loss,
    made_before,
    reached_loss,
    same_loss,
    trail_to_loss,
)
from torch_doctor_rules.judging.readers import line, reader
from torch_doctor_rules.judging.subjects import CLASS_LOSSES
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator


HELP = "pass logits to the loss, or use `NLLLoss`"


class LogSoftmaxBeforeCrossEntropy(Rule):
    """Log-softmax is applied before a loss that applies it again.

    ## Why is this bad?
    The log-softmax of log-probabilities is the same log-probabilities. The loss is correct, but the work is done twice,
    forward and backward. It also misleads readers, and becomes a bug when somebody changes only one of the two.

    ## Example
    ```python
    loader = DataLoader(TensorDataset(torch.randn(64, 4), torch.randint(0, 3, (64,))), batch_size=16, shuffle=True)
    model = nn.Sequential(nn.Linear(4, 3), nn.LogSoftmax(dim=1))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    for epoch in range(2):
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
    ```

    ## Use instead
    ```diff
     model = nn.Sequential(nn.Linear(4, 3), nn.LogSoftmax(dim=1))
    -criterion = nn.CrossEntropyLoss()
    +criterion = nn.NLLLoss()
     optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    ```

    ## Fix safety
    The fix removes the log-softmax. It is not offered if anything other than the loss uses the values: a threshold, a
    metric, arithmetic, a file, an exported model, or unresolved code. The help names such a line: apply log-softmax
    there. Taking the argmax over the same dimension gives the same result without the log-softmax.

    ## How the probe confirms it
    The graph of the loss has two log-softmax nodes, one directly below the other.

    ## When it is not reported
    If the loss is `NLLLoss`, which expects log-probabilities, and if a flag decides whether the log-softmax is applied.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.CrossEntropyLoss.html
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.NLLLoss.html
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.LogSoftmax.html
    """

    code = "TDR202"
    name = "log-softmax-before-cross-entropy"
    level = Level.WARNING
    witness = "SP"
    inside = True
    voided_by = frozenset({"inside"})
    subject = CLASS_LOSSES
    fix = Fix.SAFE
    fix_changes = frozenset({Figure.LOSS, Figure.GRADIENTS, Figure.UPDATES})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every log-softmax whose result reaches cross-entropy."""
        for operation_at, loss in made_before(trace, Kind.LOG_PROBABILITIES, CROSS_ENTROPY):
            read = reader(trace, operation_at, CROSS_ENTROPY)
            yield self.finding(
                operation_at,
                message(
                    "log-softmax is applied before `{loss}`, which applies it again: redundant work", loss=loss.name
                ),
                help=HELP
                if read is None or read == operation_at
                else f"{HELP} ({line(read, operation_at)} uses the log-probabilities)",
                trail=trail_to_loss(trace, operation_at, loss, "log-softmax is applied here"),
                edits=[Unwrap(operation_at)] if read is None else [],
            )

    def same(self, finding: Finding, seen: Finding) -> bool:
        """Whether both lead to one loss."""
        return same_loss(finding, seen)

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether the loss was computed of something else."""
        return reached_loss(trace, finding.trail[-1].site, Kind.LOG_PROBABILITIES)

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How many losses got them."""
        return at_loss(trace, finding.trail[-1].site, "log-softmax outputs", Kind.LOG_PROBABILITIES)
