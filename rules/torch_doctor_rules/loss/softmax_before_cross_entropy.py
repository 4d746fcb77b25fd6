"""TDR201: softmax is applied before cross-entropy."""

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


HELP = "pass logits to the loss; apply softmax only where you need probabilities"


class SoftmaxBeforeCrossEntropy(Rule):
    """Softmax is applied before a loss that applies it again.

    ## Why is this bad?
    `CrossEntropyLoss` expects logits and applies log-softmax to them. If it gets probabilities, which lie between 0 and
    1, the second softmax makes the distribution almost uniform. The loss cannot fall below about 0.55 for two classes
    (1.46 for ten), the gradients are small, and training is slow or stalls. No error is raised.

    ## Example
    ```python
    loader = DataLoader(TensorDataset(torch.randn(64, 4), torch.randint(0, 3, (64,))), batch_size=16, shuffle=True)
    model = nn.Sequential(nn.Linear(4, 3), nn.Softmax(dim=1))
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
     loader = DataLoader(TensorDataset(torch.randn(64, 4), torch.randint(0, 3, (64,))), batch_size=16, shuffle=True)
    -model = nn.Sequential(nn.Linear(4, 3), nn.Softmax(dim=1))
    +model = nn.Sequential(nn.Linear(4, 3))
     criterion = nn.CrossEntropyLoss()
    ```

    ## Fix safety
    The fix removes the softmax. It is not offered if anything other than the loss uses the values: a threshold, a
    metric, arithmetic, a file, an exported model, or unresolved code. The help names such a line: apply softmax there.
    Taking the argmax over the same dimension gives the same result without the softmax.

    ## How the probe confirms it
    The graph of the loss has a softmax below the loss's own log-softmax. Input values that lie in [0, 1] and sum to 1
    support it.

    ## When it is not reported
    - The softmax is used for attention, metrics or predictions only.
    - A flag decides whether the softmax is applied.
    - The loss is a different one (`NLLLoss`, a binary loss).
    - A layer with the name `softmax` is a log-softmax.
    - The probabilities are centered, or multiplied by a large number, so that they act as logits again.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.CrossEntropyLoss.html
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.Softmax.html
    """

    code = "TDR201"
    name = "softmax-before-cross-entropy"
    level = Level.ERROR
    witness = "SP"
    inside = True
    voided_by = frozenset({"inside"})
    subject = CLASS_LOSSES
    fix = Fix.UNSAFE
    fix_changes = frozenset({Figure.LOSS, Figure.GRADIENTS, Figure.UPDATES})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every softmax whose result reaches cross-entropy."""
        for operation_at, loss in made_before(trace, Kind.PROBABILITIES, CROSS_ENTROPY):
            read = reader(trace, operation_at, CROSS_ENTROPY)
            yield self.finding(
                operation_at,
                message(
                    "softmax is applied before `{loss}`, which applies it again: gradients nearly vanish",
                    loss=loss.name,
                ),
                help=HELP if read is None or read == operation_at else f"{HELP} ({line(read, operation_at)} uses them)",
                trail=trail_to_loss(trace, operation_at, loss, "softmax is applied here"),
                edits=[Unwrap(operation_at)] if read is None else [],
            )

    def same(self, finding: Finding, seen: Finding) -> bool:
        """Whether both lead to one loss."""
        return same_loss(finding, seen)

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether the loss was computed of something else."""
        return reached_loss(trace, finding.trail[-1].site, Kind.PROBABILITIES)

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How many losses got them."""
        return at_loss(trace, finding.trail[-1].site, "softmax outputs", Kind.PROBABILITIES)
