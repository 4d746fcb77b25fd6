"""TDR415: training goes on from the averaged weights that an evaluation swapped in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule, Step
from torch_doctor.trace import AverageKept, Forward, Trace
from torch_doctor_rules.evaluation.average_not_restored.swaps import KeptAverage, WeightAverages
from torch_doctor_rules.judging.causes import place
from torch_doctor_rules.judging.evidence import count, fact
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.subjects import AVERAGES
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator


class AverageNotRestored(Rule):
    """Averaged weights are swapped in for an evaluation, and training goes on from them.

    ## Why is this bad?
    An average of the weights is a good model to evaluate and to save, but not one to go on training with. If nothing
    swaps the trained weights back, each evaluation throws away most of what the last epoch learned, and the state of
    the optimizer belongs to weights that no longer exist. With a slow average, the model hardly moves at all.

    ## Example
    ```python
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    average = {name: p.detach().clone() for name, p in model.named_parameters()}
    for epoch in range(3):
        for x, y in DataLoader(train_set, batch_size=16, shuffle=True):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
            for name, p in model.named_parameters():
                average[name].lerp_(p.detach(), 0.1)
        trained = {name: p.detach().clone() for name, p in model.named_parameters()}
        model.load_state_dict(average)
        with torch.no_grad():
            for x, y in DataLoader(test_set, batch_size=32):
                print(nn.functional.mse_loss(model(x), y).item())
    ```

    ## Use instead
    ```diff
                 print(nn.functional.mse_loss(model(x), y).item())
    +    model.load_state_dict(trained)
    ```

    ## How the probe confirms it
    The weights at the evaluation are a weighted mean of several earlier versions of the weights, and the next optimizer
    step starts from them. If it starts from the weights after the last step, the finding is refuted.

    ## When it is not reported
    - The average is evaluated in a model of its own, or swapped in after the last epoch.
    - It is not updated with the optimizer steps, or it is written as often as it is updated: Lookahead and similar
      methods pull the trained weights back on purpose.
    - The weights are the average of other models, or the best weights so far.
    - Something else sets the weights before they are trained on, or a test that may hold only at the end decides about
      the swap.
    - The weights are passed to unresolved code.

    ## References
    - https://docs.pytorch.org/docs/stable/optim.html#weight-averaging-swa-and-ema
    - https://docs.pytorch.org/docs/stable/generated/torch.optim.swa_utils.AveragedModel.html
    """

    code = "TDR415"
    name = "average-not-restored"
    level = Level.ERROR
    witness = "SP"
    needs = frozenset({"averages"})
    voided_by = frozenset({"inside"})
    subject = AVERAGES
    only_confirms = True

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Yield every swap from which training goes on."""
        yield from first_per_site(map(self._report, trace.view(WeightAverages).kept()))

    def same(self, finding: Finding, seen: Finding) -> bool:
        """Return whether both are about the same evaluation: the probe does not see the swap itself."""
        return finding.cause == seen.cause

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Return whether an average was evaluated there and training went on from other weights."""
        if any(not seen.kept for seen in self._seen(trace, finding)):
            return True
        if any(place(forward.site) == finding.cause for forward in trace.of(Forward)):
            return "the probe run saw no training after an evaluation with averaged weights"
        return False

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How far the average is from the weights after the last step."""
        for seen in self._seen(trace, finding)[:1]:
            versions = count(seen.tensors, "version")
            if seen.kept:
                yield fact(
                    f"the next step starts from an average of {versions} of the weights", seen.tensors, event=seen
                )
                text = f"the last step left the weights {seen.distance:.2g} of their norm away"
                yield fact(text, seen.distance, event=seen)
            else:
                text = f"after an average of {versions}, the next step starts from other weights"
                yield fact(text, seen.tensors, event=seen)

    def _seen(self, trace: Trace, finding: Finding) -> list[AverageKept]:
        return [each for each in trace.of(AverageKept) if place(each.site) == finding.cause]

    def _report(self, kept: KeptAverage) -> Finding:
        trail = [
            Step(kept.site, "the average is written into the model here"),
            Step(kept.evaluation.site, "it is evaluated here"),
        ]
        if kept.training is not None:
            trail.append(Step(kept.training.site, "training goes on from the average here"))
        return self.finding(
            kept.site,
            message(
                "the average stays in `{name}` after the evaluation: training goes on from it",
                name=kept.training.name if kept.training is not None else kept.evaluation.name,
            ),
            help="copy the trained weights before the swap, and write them back after the evaluation",
            trail=trail,
            cause=place(kept.evaluation.site),
        )
