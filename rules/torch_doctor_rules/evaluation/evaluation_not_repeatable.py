"""TDR406: an evaluation in evaluation mode is not repeatable."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule
from torch_doctor.trace import Forward, LossCalled, Reevaluated, Source, Trace
from torch_doctor_rules.judging.evidence import at, fact, two
from torch_doctor_rules.judging.loss_inputs import BCE, CROSS_ENTROPY, NLL, SIGMOID_INSIDE
from torch_doctor_rules.judging.passes import Passes
from torch_doctor_rules.judging.subjects import EVALUATION
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

CAUSES = {
    "dropout": (
        "a functional dropout ignores the mode",
        "pass `training=self.training` to the functional dropout, or use `nn.Dropout`",
    ),
    "disturbance": ("noise is added in evaluation mode too", "add noise only if `self.training` is true"),
    "estimate": (
        "its spectral norms were never estimated",
        "use `torch.nn.utils.parametrizations.spectral_norm`, or run the model in training mode first",
    ),
}
"""Why the outputs differ, and the remedy, by `Reevaluated.because`."""


class EvaluationNotRepeatable(Rule):
    """The same batch gives two different outputs, although the model is in evaluation mode.

    ## Why is this bad?
    `model.eval()` affects modules only. A functional dropout without `training=self.training` stays active: the score
    is noisy and too low, and predictions differ from call to call. `nn.utils.spectral_norm` divides by random numbers
    until the first forward pass in training mode, so an evaluation before that is meaningless.

    ## Example
    ```python
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.hidden, self.head = nn.Linear(4, 32), nn.Linear(32, 1)

        def forward(self, x, rate=0.5):
            h = torch.relu(self.hidden(x))
            return self.head(nn.functional.dropout(h, rate) if rate else h)


    net = Net()
    nn.functional.mse_loss(net(torch.randn(16, 4)), torch.randn(16, 1)).backward()
    torch.optim.SGD(net.parameters(), lr=0.1).step()
    net.eval()
    with torch.no_grad():
        print(net(torch.randn(16, 4)).mean().item())
    ```

    ## Use instead
    ```diff
             h = torch.relu(self.hidden(x))
    -        return self.head(nn.functional.dropout(h, rate) if rate else h)
    +        return self.head(nn.functional.dropout(h, rate, training=self.training) if rate else h)
    ```

    ## How the probe confirms it
    It evaluates a batch again on a copy of the model, with different and with the same random numbers. The outputs
    differ only with different random numbers, and a functional dropout in the project drew them, or a classifier adds
    noise whose scale is not learned. For spectral norms, the output of the copy changes as soon as they are estimated.

    ## When it is not reported
    - The randomness is intended: sampling, noise that is scaled by the model's output or is its only input, an average
      over several outputs for one batch, or dropout with `training=True`.
    - The model carries state from call to call.
    - The model is in training mode (TDR401).
    - The model is too large to copy.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.dropout.html
    """

    code = "TDR406"
    name = "evaluation-not-repeatable"
    level = Level.ERROR
    witness = "P"
    voided_by = frozenset({"inside"})
    subject = EVALUATION
    needs = frozenset({"repeat"})
    explained_by = frozenset({"TDR304", "TDR306", "TDR401"})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """The first call of each place whose answer depends on what a functional dropout draws."""
        evaluating = {forward.index: forward for forward in trace.of(Forward) if forward.training is False}
        because = {
            again.forward: again.because
            for again in trace.of(Reevaluated)
            if again.forward in evaluating
            and (
                again.because == "dropout"
                or (again.because == "disturbance" and _chooses(trace, again))
                or (again.because == "estimate" and evaluating[again.forward].inputs.source is Source.LOADER)
            )
        }
        for forward in trace.view(Passes).first_of_each(evaluating[number] for number in because):
            why, remedy = CAUSES[because[forward.index]]
            yield self.finding(
                forward.site,
                message("`{name}` gives two outputs for the same batch: " + why, name=forward.name),
                help=remedy,
            )

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """The two answers."""
        here = {forward.index: forward for forward in at(trace, finding.site, Forward)}
        for again in trace.of(Reevaluated):
            if again.forward in here and again.difference:
                text = f"the same batch gave {two(again.first, again.second)}"
                yield fact(text, again.difference, "", here[again.forward])
                return


def _chooses(trace: Trace, again: Reevaluated) -> bool:
    """Whether a classifier answers each batch once: its training has a loss over classes."""
    own = [forward for forward in trace.of(Forward) if forward.module == again.module]
    losses = [event for event in trace.of(LossCalled) if event.loss in CROSS_ENTROPY | NLL | BCE | SIGMOID_INSIDE]
    trained = any(forward.index in loss.input.graph_forwards for loss in losses for forward in own)
    here = [forward.scope for forward in own if forward.index == again.forward]
    return trained and sum(forward.scope in here for forward in own) == 1
