"""TDR211: `kl_div` gets values that are not log-probabilities, or averages over all elements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Figure, Wrap
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule, Step
from torch_doctor.trace import Kind, LossCalled, Trace, claims
from torch_doctor_rules.judging.causes import one_loss, place
from torch_doctor_rules.judging.evidence import at, fact
from torch_doctor_rules.judging.loss_inputs import KL_DIV, between, given, trail_of_input
from torch_doctor_rules.judging.loss_shapes import rank
from torch_doctor_rules.judging.readers import reader
from torch_doctor_rules.judging.replacing import as_log_softmax, averaged_as
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.subjects import DIVERGENCES
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch_doctor.edits import Edit

WRONG = {
    Kind.LOGITS: "logits",
    Kind.HIDDEN: "raw activations",
    Kind.PROBABILITIES: "probabilities",
    Kind.BOUNDED: "sigmoid outputs",
}
"""Kinds of values that are not log-probabilities, as a message names them."""


class KlDivNotLog(Rule):
    """`kl_div` gets values that are not log-probabilities, or averages over all elements.

    ## Why is this bad?
    `kl_div` expects the logarithm of the model's distribution as its input, and the other distribution without the
    logarithm. For probabilities or logits the result is not a divergence and can be negative. The default,
    `reduction="mean"`, divides by the number of all elements, while the definition sums over the classes. The loss is
    then too small by a factor of the number of classes.

    ## Example
    ```python
    teacher, student = nn.Linear(4, 3), nn.Linear(4, 3)
    optimizer = torch.optim.SGD(student.parameters(), lr=0.1)

    for step in range(4):
        x = torch.randn(16, 4)
        with torch.no_grad():
            wanted = torch.softmax(teacher(x), dim=1)
        optimizer.zero_grad()
        predicted = torch.softmax(student(x), dim=1)
        loss = nn.functional.kl_div(predicted, wanted, reduction="batchmean")
        loss.backward()
        optimizer.step()
    ```

    ## Use instead
    ```diff
         optimizer.zero_grad()
    -    predicted = torch.softmax(student(x), dim=1)
    +    predicted = torch.log_softmax(student(x), dim=1)
         loss = nn.functional.kl_div(predicted, wanted, reduction="batchmean")
    ```

    ## Fix safety
    The loss value changes, and so do its gradients. A loss weight that was tuned for the old value no longer fits.

    ## How the probe confirms it
    The graph of the input ends in a linear layer, an activation or a softmax, with no logarithm in between; or the call
    uses `reduction="mean"`.

    ## When it is not reported
    - It is unknown what the values are, or which reduction is used.
    - The reduction is `sum` or `none`, or the old `size_average=False` is used.

    If several calls use the same loss and model, only the first one in a file is reported.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.KLDivLoss.html
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.kl_div.html
    """

    code = "TDR211"
    name = "kl-div-not-log"
    level = Level.ERROR
    witness = "SP"
    voided_by = frozenset({"inside"})
    subject = DIVERGENCES
    fix = Fix.UNSAFE
    fix_changes = frozenset({Figure.LOSS, Figure.GRADIENTS, Figure.UPDATES})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every divergence of something else than log-probabilities, and every one that is averaged over all numbers."""
        wrong = {loss.site: loss for loss in given(trace, WRONG, KL_DIV)}
        averaged = (loss for loss in trace.of(LossCalled) if loss.loss in KL_DIV and loss.reduction == "mean")
        for loss in first_per_site([*wrong.values(), *averaged]):
            if loss.site in wrong:
                what = WRONG[loss.input.kind]
                made = (
                    [Step(loss.input.operation_at, f"{what} are computed here")]
                    if loss.input.operation_at is not None
                    else []
                )
                yield self.finding(
                    loss.site,
                    message(
                        "`{loss}` expects log-probabilities, but gets " + what + ": it is not a divergence",
                        loss=loss.name,
                    ),
                    help="pass the `log_softmax` of the logits",
                    trail=[*made, *trail_of_input(trace, loss)],
                    cause=one_loss(trace, loss),
                    edits=_edits(trace, loss),
                )
            else:
                edits = averaged_as(trace, loss, "batchmean", built_at=2, called_at=4)
                yield self.finding(
                    loss.site,
                    message("`{loss}` averages over all elements, not over the batch: it is too small", loss=loss.name),
                    help='pass `reduction="batchmean"`',
                    cause=place(edits[0].site) if edits else one_loss(trace, loss),
                    edits=edits,
                )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether the divergence was computed, of log-probabilities and summed up in another way."""
        losses = at(trace, finding.site, LossCalled)
        if any(
            loss.input.kind is Kind.UNKNOWN
            and not between(trace, loss, (claims.SMALLEST_SUM, claims.LARGEST_SUM), 0.99, 1.01)
            for loss in losses
        ):
            return "it is unknown what kind of values reached the loss"
        return bool(losses) if all(loss.reduction for loss in losses) else "it is unknown which reduction is used"

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How many of them were wrong."""
        losses = at(trace, finding.site, LossCalled)
        wrong = [loss for loss in losses if loss.input.kind in WRONG or loss.reduction == "mean"]
        if losses:
            text = f"{len(wrong)} of {len(losses)} calls got no log-probabilities, or averaged over all elements"
            yield fact(text, len(wrong), "losses", losses[0])


def _edits(trace: Trace, loss: LossCalled) -> Sequence[Edit]:
    """The softmax as a log-softmax, where it makes nothing but the input; a log-softmax of scores, where a row has them."""
    if loss.input.kind is Kind.PROBABILITIES:
        read = reader(trace, loss.input.operation_at, KL_DIV, monotone=True)
        return as_log_softmax(loss.input) if read is None else []
    if loss.input.kind is Kind.LOGITS and rank(loss.input) == ROWS_OF_SCORES:
        return [Wrap(loss.site, "$torch.nn.functional.log_softmax({}, dim=1)", argument=0)]
    return []


ROWS_OF_SCORES = 2
"""How many dimensions a batch of them has."""
