"""TDR407: a running sum or a metric object is not reset between epochs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule, Step, same_place
from torch_doctor.trace import Averaged, Summed, claims
from torch_doctor_rules.evaluation.accumulator_not_reset import tallies
from torch_doctor_rules.evaluation.accumulator_not_reset.sums import outlived
from torch_doctor_rules.judging.evidence import at, count, fact, numbers
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Site, Trace


class AccumulatorNotReset(Rule):
    """A running loss, count or metric object is read in every epoch, but never reset between epochs.

    ## Why is this bad?
    The average of the second epoch includes two epochs, that of the tenth includes ten. The loss seems to grow although
    the model learns, an accuracy exceeds 100 %, and decisions that are based on them, such as the best checkpoint, are
    wrong. The same holds for a meter or metric object with a `reset` method that is never called, be it of the project or of
    torchmetrics, ignite or torcheval.

    ## Example
    ```python
    total = 0.0
    for epoch in range(3):
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(epoch, total / len(loader))
    ```

    ## Use instead
    ```diff
    -total = 0.0
     for epoch in range(3):
    +    total = 0.0
         for x, y in loader:
    ```

    ## How the probe confirms it
    When the loop over batches starts for the second time, the sum still has the value from the end of the first pass. A
    metric of torchmetrics still has the batches of an evaluation that was read before the model was trained further.

    ## When it is not reported
    - For averages over the whole training.
    - The divisor grows along with the sum, unless both are attributes of a metric object that evaluates.
    - A metric object has no method that resets it, unresolved code gets it (as Lightning's `log` does, which resets it), its
      results are of training passes alone or of several models, or nothing reads it between the epochs. Lists of outputs count as
      such objects only as attributes of a LightningModule.
    - Any path through the code may reset the sum.
    - Nothing shows that the average is meant for one epoch.

    ## References
    - https://docs.pytorch.org/tutorials/beginner/introyt/trainingyt.html#per-epoch-activity
    """

    code = "TDR407"
    name = "accumulator-not-reset"
    level = Level.WARNING
    witness = "SP"
    needs = frozenset({"tallies"})
    only_confirms = True
    shown_by = "second pass over the batches"

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every sum that is averaged over one pass of a loop and holds earlier passes too."""
        if trace.run is not None:
            yield from (self._kept(each, each.site) for each in trace.of(Summed) if each.carries)
            return
        seen = set()
        for average in trace.of(Averaged):
            summed = outlived(trace, average)
            if summed is None or summed.started is None or summed.started in seen:
                continue
            seen.add(summed.started)
            yield self._kept(
                summed, summed.started, Step(average.site, "the sum is divided by the length of one epoch here")
            )
        for added, read in tallies.kept(trace):
            yield self.finding(
                added.built,
                message(
                    "this `{name}` is never reset: its result for an epoch includes all earlier epochs",
                    name=added.class_name,
                ),
                help="reset it, or create a new one, before every evaluation",
                trail=[Step(added.site, "every batch is added here"), Step(read.site, "it is read after every pass")],
            )

    def same(self, finding: Finding, seen: Finding) -> bool:
        """Whether both speak of one addition: a run does not see where a sum of plain numbers began."""
        return same_place(finding.trail[0].site, seen.trail[0].site)

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether the loop over batches began a second time."""
        begun = at(trace, finding.trail[0].site, Summed)
        if not begun and trace.run is not None and trace.run.came_to(finding.trail[0].site) is True:
            return "the probe run does not show what is added up"
        return len(begun) > 1

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """What the sum had when the batches began again."""
        begun = at(trace, finding.trail[0].site, Summed)
        for event, value in numbers(trace, claims.TALLY_KEPT, *begun):
            yield fact(f"it still had {count(value, 'batch', 'batches')} of earlier passes", value, "batches", event)
            return
        for event, value in numbers(trace, claims.SUM_KEPT, *begun):
            yield fact(f"it was still {value:.6g} when the next pass over the batches started", value, "", event)
            return
        if len(begun) > 1:
            yield fact(
                f"it was reset in {count(len(begun) - 1, 'later pass', 'later passes')}", len(begun) - 1, "passes"
            )

    def _kept(self, summed: Summed, site: Site, *steps: Step) -> Finding:
        return self.finding(
            site,
            message("`{sum}` is never reset: the average of an epoch includes all earlier epochs", sum=summed.holder),
            help="reset it to zero at the start of every epoch",
            trail=[Step(summed.site, "every batch is added here"), *steps],
        )
