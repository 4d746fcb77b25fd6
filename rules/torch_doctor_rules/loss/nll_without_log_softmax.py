"""TDR203: the negative log-likelihood of values that are no log-probabilities."""

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
    Kind.LOGITS: "raw scores",
    Kind.HIDDEN: "raw activations",
    Kind.PROBABILITIES: "probabilities",
    Kind.BOUNDED: "what a sigmoid bounded",
}
"""Kinds of values that are no log-probabilities, in the words of a message."""

HELP = "give it the log_softmax of raw scores, or use `CrossEntropyLoss` on them"
CLOSE = 1e-2
"""How far from 1 sums may be, in half precision."""


class NllWithoutLogSoftmax(Rule):
    """The negative log-likelihood is taken of values that are no log-probabilities.

    ## Why is this bad?
    `NLLLoss` takes no logarithm: it only picks the value at the target and turns its sign. Of raw scores it has no lower
    bound, so that training pushes them to infinity; of probabilities it is minus the probability, whose gradient
    vanishes exactly where the model is wrong. Everything runs, and the loss even falls.

    ## Example
    ```python
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
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
    ```python
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    loader = DataLoader(TensorDataset(torch.randn(64, 4), torch.randint(0, 3, (64,))), batch_size=16, shuffle=True)
    model = nn.Sequential(nn.Linear(4, 3), nn.LogSoftmax(dim=1))
    criterion = nn.NLLLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    for epoch in range(2):
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
    ```

    ## Fix safety
    The fix makes a log-softmax of the softmax, or a cross-entropy of the loss where it gets raw scores. It is not offered
    where anything besides the loss depends on the probabilities, or takes raw scores for probabilities; the help names the
    line.

    ## How the probe confirms it
    The graph behind the loss ends in a linear layer, an activation or a softmax, with no log-softmax between.

    ## When it is not reported
    When the values went through a logarithm or through arithmetic that may make log-probabilities of them, when a layer
    that is called `softmax` is a log-softmax, and when it is not known what they are.

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
                [Step(loss.input.operation_at, f"{what} are made here")] if loss.input.operation_at is not None else []
            )
            read = _reader(trace, loss)
            yield self.finding(
                loss.site,
                message(
                    "`{loss}` needs log-probabilities and gets " + what + ": its minimum means nothing", loss=loss.name
                ),
                help=HELP
                if read is None or read == loss.input.operation_at
                else f"{HELP}: {line(read, loss.site)} reads probabilities",
                trail=[*made, *trail_of_input(trace, loss)],
                edits=_edits(trace, loss) if read is None else [],
            )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether the loss was computed of log-probabilities."""
        return reached_loss(trace, finding.site, *WRONG, fits=_sums_to_one)

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How many losses got something else, and between what it lay."""
        return at_loss(trace, finding.site, "values that are no log-probabilities", *WRONG)


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
