"""TDR203: `NLLLoss` gets values that are not log-probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Figure
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule, Step
from torch_doctor.trace import Kind, LossCalled, Trace, claims
from torch_doctor_rules.judging.loss_inputs import NLL, at_loss, between, given, reached_loss, trail_of_input
from torch_doctor_rules.judging.readers import line, reader, threshold
from torch_doctor_rules.judging.replacing import as_log_softmax, instead
from torch_doctor_rules.judging.subjects import LIKELIHOODS
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch_doctor.edits import Edit
    from torch_doctor.trace import Site

WRONG = {
    Kind.LOGITS: "logits",
    Kind.HIDDEN: "raw activations",
    Kind.PROBABILITIES: "probabilities",
    Kind.BOUNDED: "sigmoid outputs",
}
"""Kinds of values that are not log-probabilities, as a message names them."""

HELP = "apply `log_softmax` to the logits, or pass the logits to `CrossEntropyLoss`"
CLOSE = 1e-2
"""How far from 1 sums may be, in half precision."""


class NllWithoutLogSoftmax(Rule):
    """`NLLLoss` gets values that are not log-probabilities.

    ## Why is this bad?
    `NLLLoss` does not take a logarithm. It only picks the value at the target and negates it. For logits this has no
    lower bound, so training pushes them to infinity. For probabilities the loss is the negated probability, whose
    gradient vanishes exactly where the model is wrong. No error is raised, and the loss even falls.

    ## Example
    ```python
    loader = DataLoader(TensorDataset(torch.randn(64, 4), torch.randint(0, 3, (64,))), batch_size=16, shuffle=True)
    model = nn.Sequential(nn.Linear(4, 3), nn.Softmax(dim=1))
    criterion = nn.NLLLoss()
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
    +model = nn.Sequential(nn.Linear(4, 3), nn.LogSoftmax(dim=1))
     criterion = nn.NLLLoss()
    ```

    ## Fix safety
    The fix replaces the softmax with a log-softmax, or the loss with cross-entropy if it gets logits. It is not offered
    if anything other than the loss uses the probabilities, or treats the logits as probabilities. The help names that
    line.

    ## How the probe confirms it
    The graph of the loss ends in a linear layer, an activation or a softmax, with no log-softmax in between.

    ## When it is not reported
    - The values went through a logarithm, or through arithmetic that may turn them into log-probabilities.
    - A layer with the name `softmax` is a log-softmax.
    - It is unknown what the values are.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.NLLLoss.html
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.LogSoftmax.html
    """

    code = "TDR203"
    name = "nll-without-log-softmax"
    level = Level.ERROR
    witness = "SP"
    voided_by = frozenset({"inside"})
    subject = LIKELIHOODS
    fix = Fix.UNSAFE
    fix_changes = frozenset({Figure.LOSS, Figure.GRADIENTS, Figure.UPDATES})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every negative log-likelihood of something else than log-probabilities."""
        for loss in given(trace, WRONG, NLL):
            what = WRONG[loss.input.kind]
            made = (
                [Step(loss.input.operation_at, f"{what} are computed here")]
                if loss.input.operation_at is not None
                else []
            )
            read = _reader(trace, loss)
            yield self.finding(
                loss.site,
                message(
                    "`{loss}` expects log-probabilities, but gets " + what + ": its minimum is meaningless",
                    loss=loss.name,
                ),
                help=HELP
                if read is None or read == loss.input.operation_at
                else f"{HELP} ({line(read, loss.site)} needs probabilities)",
                trail=[*made, *trail_of_input(trace, loss)],
                edits=_edits(trace, loss) if read is None else [],
            )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether the loss was computed of log-probabilities."""
        return reached_loss(trace, finding.site, *WRONG, fits=_sums_to_one)

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How many losses got something else, and between what it lay."""
        return at_loss(trace, finding.site, "values that are not log-probabilities", *WRONG)


def _sums_to_one(trace: Trace, loss: LossCalled) -> bool:
    """Whether the exponentials of every row have the sum 1, as those of log-probabilities."""
    return between(trace, loss, (claims.SMALLEST_SUM, claims.LARGEST_SUM), 1 - CLOSE, 1 + CLOSE)


def _reader(trace: Trace, loss: LossCalled) -> Site | None:
    """Where probabilities are read that the fix would change, or raw scores as if they were probabilities."""
    if loss.input.kind is Kind.PROBABILITIES:
        return reader(trace, loss.input.operation_at, NLL, monotone=True)
    return threshold(trace, loss)


def _edits(trace: Trace, loss: LossCalled) -> Sequence[Edit]:
    """The softmax as a log-softmax, where one makes the probabilities; the loss as a cross-entropy, where it gets scores."""
    if loss.input.kind is Kind.PROBABILITIES:
        return as_log_softmax(loss.input)
    return instead(trace, loss, "CrossEntropyLoss", "cross_entropy")
