"""TDR204: sigmoid is applied before a loss that applies it again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Figure, Unwrap
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule
from torch_doctor.trace import Kind, Trace
from torch_doctor_rules.judging.loss_inputs import (
    SIGMOID_INSIDE,
    at_loss,
    made_before,
    reached_loss,
    same_loss,
    trail_to_loss,
)
from torch_doctor_rules.judging.readers import line, reader
from torch_doctor_rules.judging.subjects import BINARY_LOSSES
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator


HELP = "pass logits to the loss; apply sigmoid only where you need probabilities"


class SigmoidBeforeBceWithLogits(Rule):
    """Sigmoid is applied before a binary loss that applies it again.

    ## Why is this bad?
    `BCEWithLogitsLoss` expects logits. Sigmoid outputs lie between 0 and 1, and the sigmoid of those lies between 0.5
    and 0.73. The loss of a negative sample cannot fall below 0.69, gradients are small, and the model hardly learns. No
    error is raised.

    ## Example
    ```python
    loader = DataLoader(TensorDataset(torch.randn(64, 4), torch.ones(64, 1)), batch_size=16, shuffle=True)
    model = nn.Sequential(nn.Linear(4, 1), nn.Sigmoid())
    criterion = nn.BCEWithLogitsLoss()
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
     loader = DataLoader(TensorDataset(torch.randn(64, 4), torch.ones(64, 1)), batch_size=16, shuffle=True)
    -model = nn.Sequential(nn.Linear(4, 1), nn.Sigmoid())
    +model = nn.Sequential(nn.Linear(4, 1))
     criterion = nn.BCEWithLogitsLoss()
    ```

    ## Fix safety
    The fix removes the sigmoid. It is not offered if anything other than the loss uses the values: a threshold, a
    metric, arithmetic, a file, an exported model, or unresolved code. The help names such a line: apply sigmoid there.
    The order of the values is the same without the sigmoid.

    ## How the probe confirms it
    The graph of the loss has a sigmoid below the loss's own.

    ## When it is not reported
    - The sigmoid is a gate, or is used for metrics and predictions only.
    - A flag decides whether the sigmoid is applied.
    - Its outputs are centered, or multiplied by a large number.
    - The loss is a different one.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.BCEWithLogitsLoss.html
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.Sigmoid.html
    """

    code = "TDR204"
    name = "sigmoid-before-bce-with-logits"
    level = Level.ERROR
    witness = "SP"
    inside = True
    voided_by = frozenset({"inside"})
    subject = BINARY_LOSSES
    fix = Fix.UNSAFE
    fix_changes = frozenset({Figure.LOSS, Figure.GRADIENTS, Figure.UPDATES})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every sigmoid whose result reaches a loss with a sigmoid of its own."""
        for operation_at, loss in made_before(trace, Kind.BOUNDED, SIGMOID_INSIDE):
            read = reader(trace, operation_at, SIGMOID_INSIDE)
            yield self.finding(
                operation_at,
                message("sigmoid is applied before `{loss}`, which applies it again: learning stalls", loss=loss.name),
                help=HELP if read is None or read == operation_at else f"{HELP} ({line(read, operation_at)} uses them)",
                trail=trail_to_loss(trace, operation_at, loss, "sigmoid is applied here"),
                edits=[Unwrap(operation_at)] if read is None else [],
            )

    def same(self, finding: Finding, seen: Finding) -> bool:
        """Whether both lead to one loss."""
        return same_loss(finding, seen)

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether the loss was computed of something else."""
        return reached_loss(trace, finding.trail[-1].site, Kind.BOUNDED)

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How many losses got what a sigmoid had made, and between what it lay."""
        return at_loss(trace, finding.trail[-1].site, "sigmoid outputs", Kind.BOUNDED)
