"""TDR205: `BCELoss` gets values that are not probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Figure
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule, Step
from torch_doctor.trace import Kind, Trace, claims
from torch_doctor_rules.judging.loss_inputs import BCE, at_loss, between, given, reached_loss, trail_of_input
from torch_doctor_rules.judging.readers import line, threshold
from torch_doctor_rules.judging.replacing import instead
from torch_doctor_rules.judging.subjects import BINARY_LOSSES
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

WRONG = {
    Kind.LOGITS: "logits",
    Kind.HIDDEN: "raw activations",
    Kind.LOG_PROBABILITIES: "log-probabilities",
    Kind.LOG_BOUNDED: "log-probabilities",
}
"""Kinds of values that do not lie between 0 and 1, as a message names them."""


HELP = "use `BCEWithLogitsLoss`, or apply sigmoid before the loss"


class BceOnLogits(Rule):
    """`BCELoss` gets values that are not probabilities.

    ## Why is this bad?
    `BCELoss` takes the logarithm of its input and of 1 minus its input, so it expects probabilities. Sooner or later
    logits leave the range from 0 to 1, and torch raises an error. Until then the loss is meaningless.

    ## Example
    ```python
    loader = DataLoader(TensorDataset(torch.randn(64, 4), torch.ones(64, 1)), batch_size=16, shuffle=True)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    criterion = nn.BCELoss()
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
     model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    -criterion = nn.BCELoss()
    +criterion = nn.BCEWithLogitsLoss()
     optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    ```

    ## Fix safety
    The fix uses the loss with a built-in sigmoid, if every call of the loss gets logits. It is not offered if the
    logits are also treated as probabilities, for example by a threshold of 0.5. The help names that line: apply sigmoid
    there.

    ## How the probe confirms it
    The graph of the loss ends in a linear layer or an activation without a sigmoid, or torch raises an error because
    values are outside the range.

    ## When it is not reported
    If a sigmoid, a softmax, a clamp to [0, 1] or other arithmetic may have bounded the values, and if it is unknown
    what the values are.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.BCELoss.html
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.BCEWithLogitsLoss.html
    """

    code = "TDR205"
    name = "bce-on-logits"
    level = Level.ERROR
    witness = "SP"
    voided_by = frozenset({"inside"})
    subject = BINARY_LOSSES
    fix = Fix.UNSAFE
    fix_changes = frozenset({Figure.LOSS, Figure.GRADIENTS, Figure.UPDATES})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every binary cross-entropy of unbounded values."""
        for loss in given(trace, WRONG, BCE):
            what = WRONG[loss.input.kind]
            made = (
                [Step(loss.input.operation_at, f"{what} are computed here")]
                if loss.input.operation_at is not None
                else []
            )
            read = threshold(trace, loss)
            yield self.finding(
                loss.site,
                message(
                    "`{loss}` expects probabilities, but gets " + what + ": values outside [0, 1] raise an error",
                    loss=loss.name,
                ),
                help=HELP if read is None else f"{HELP} ({line(read, loss.site)} treats the logits as probabilities)",
                trail=[*made, *trail_of_input(trace, loss)],
                edits=instead(trace, loss, "BCEWithLogitsLoss", "binary_cross_entropy_with_logits")
                if read is None
                else [],
            )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether the loss was computed of bounded values."""
        return reached_loss(
            trace,
            finding.site,
            *WRONG,
            fits=lambda trace, loss: between(trace, loss, (claims.SMALLEST_INPUT, claims.LARGEST_INPUT), 0, 1),
        )

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How many losses got unbounded values, and between what these lay."""
        return at_loss(trace, finding.site, "values that are not probabilities", *WRONG)
