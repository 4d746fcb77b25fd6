"""TDR207: a loss gets targets of a dtype or shape that it does not accept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule
from torch_doctor.trace import LossCalled, Trace, claims
from torch_doctor_rules.judging.causes import one_loss
from torch_doctor_rules.judging.evidence import at, count, fact, numbers
from torch_doctor_rules.judging.loss_shapes import shown
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message
from torch_doctor_rules.loss.target_dtype.target_forms import SEVERAL, are_synthetic, misfit

if TYPE_CHECKING:
    from collections.abc import Iterator


class TargetDtype(Rule):
    """A loss gets targets of a dtype or shape that it does not accept.

    ## Why is this bad?
    A classification loss expects the class index of each sample, or of each pixel, as int64. It rejects int32, NumPy's
    default integer on some machines. Cross-entropy also accepts floating-point probabilities of the same shape as the
    logits. A binary loss expects floats. Anything else raises an error that names dtypes but not the remedy, at best at
    the first batch. A label out of range fails in the middle of an epoch, or on a GPU as an assertion that kills the
    process. Samples with several classes raise no error: cross-entropy treats the multi-hot row as one distribution, so
    raising the score of one class lowers those of the others.

    ## Example
    ```python
    loader = DataLoader(TensorDataset(torch.randn(64, 4), torch.randint(0, 3, (64,))), batch_size=16, shuffle=True)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    for epoch in range(2):
        for x, y in loader:
            optimizer.zero_grad()
            criterion(model(x), y.float()).backward()
            optimizer.step()
    ```

    ## Use instead
    ```diff
             optimizer.zero_grad()
    -        criterion(model(x), y.float()).backward()
    +        criterion(model(x), y).backward()
             optimizer.step()
    ```

    ## How the probe confirms it
    torch raises the error at this line, and the dtypes and shapes match those found in the source. For samples with
    several classes, the probe counts them in a batch.

    ## When it is not reported
    - The dtype or the shape is unknown.
    - Cross-entropy gets soft labels (floating-point, same shape as the logits).
    - There is one int64 label for each pixel or step.
    - Targets of zeros and ones are one-hot, or are computed in a way that the scan does not follow. The scan follows
      random draws and comparisons of numbers with a threshold. The probe counts classes in batches of a loader.
    - The arguments are swapped (TDR208), or the scores have a single class (TDR213).

    If several calls use the same loss and model, only the first one in a file is reported.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.CrossEntropyLoss.html
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.BCEWithLogitsLoss.html
    """

    code = "TDR207"
    name = "target-dtype"
    level = Level.ERROR
    witness = "SP"
    voided_by = frozenset({"shapes", "types", "inside"})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """The first call at each place that torch refuses."""
        yield from first_per_site(self._found(trace))

    def _found(self, trace: Trace) -> Iterator[Finding]:
        for loss in trace.of(LossCalled):
            wrong = misfit(trace, loss)
            if wrong is not None and (wrong is SEVERAL or loss.raised or not (trace.observed or trace.asked(loss))):
                cause = one_loss(trace, loss)
                yield self.finding(
                    loss.site,
                    message(wrong.text, loss=loss.name),
                    help=wrong.remedy,
                    cause=f"{wrong.text}: {cause}" if cause else "",
                )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether the loss took its targets."""
        losses = at(trace, finding.site, LossCalled)
        if losses and finding.help == SEVERAL.remedy:
            if are_synthetic(trace):
                return "the labels are synthetic"
            if not any(numbers(trace, claims.SEVERAL_CLASSES, *losses)):
                return "the targets are no batch of a loader"
        if losses and all(loss.raised for loss in losses):
            return f"the loss failed for another reason: {losses[0].raised}"
        return bool(losses)

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """What torch said, and what it was given."""
        losses = at(trace, finding.site, LossCalled)
        for loss, several in numbers(trace, claims.SEVERAL_CLASSES, *losses):
            if several:
                yield fact(
                    f"{count(int(several), 'sample')} of a batch have several classes", int(several), "samples", loss
                )
                return
        for loss in [each for each in losses if each.raised][:1] or losses[:1]:
            text = f"the loss gets {loss.target.dtype} targets {shown(loss.target)} for predictions {shown(loss.input)}"
            yield fact(text, loss.target.dtype, "", loss)
            if loss.raised:
                yield fact(f"torch raised: {loss.raised}", None, "", loss)
