"""TDR410: batch means are summed and divided by the number of samples, or weighted and divided by that of batches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Figure
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule, Step, same_place
from torch_doctor_rules.evaluation.mean_divided_by_rows.by_rows import BY_ROWS, SUM, divisions
from torch_doctor_rules.evaluation.mean_divided_by_rows.divisors import (
    HELP,
    are_alike,
    divisor,
    is_otherwise,
    lengths,
    note_of,
    reduced,
    says_of_both,
    seen,
)
from torch_doctor_rules.judging import answers
from torch_doctor_rules.judging.causes import place
from torch_doctor_rules.judging.other_lengths import OtherLengths
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.subjects import EVALUATION
from torch_doctor_rules.judging.wording import message, named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Trace

SCORED = "the means of batches are divided by the number of samples: the result is too small"
"""What a run shows of a figure."""


class MeanDividedByRows(Rule):
    """Batch means are summed and divided by the number of samples, so the result is too small by the batch size.

    ## Why is this bad?
    A torch loss is the mean over its batch, so an epoch sums as many values as there are batches. If the sum is divided
    by the number of samples, it is too small by a factor of the batch size: with batches of 64, a loss of 2.3 is
    reported as 0.036. It changes with the batch size, so runs cannot be compared. Dividing by the length of a different
    loader is also wrong: a sum over `eval_loader` that is divided by `len(train_loader)` depends on the size of both.
    If a loader draws only a part of the samples, because of a `SubsetRandomSampler` or a `Subset`, the length of the
    complete dataset makes the result too small. The last index of `enumerate(loader)` is one less than the number of
    batches, and makes it too large. Means that are weighted (`loss.item() * len(x)`), and losses with
    `reduction="sum"`, are too large by the batch size if they are divided by the number of batches.

    ## Example
    ```python
    for epoch in range(3):
        total = 0.0
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(epoch, total / len(loader.dataset))
    ```

    ## Use instead
    ```diff
             optimizer.step()
    -        total += loss.item()
    +        total += loss.item() * len(x)
         print(epoch, total / len(loader.dataset))
    ```

    ## Fix safety
    The reported number changes: the fix divides by the number of batches. If the last batch is smaller, weighting each
    batch by its size, as above, is exact. A fix is offered only if the loader has a name where the sum is divided.

    ## How the probe confirms it
    The loss is a mean over more than one sample. If it is a sum, or batches have one sample, the finding is refuted. If
    the finding is about sums, it is the other way round.
    For other means, a copy of the process finishes the evaluation with perfect predictions and with wrong ones: the figure
    shows whether it is the mean over batches, or that divided by the batch size. The probe reports a printed figure
    on its own if perfect predictions score exactly the number of batches divided by that of samples.
    For the length of a different loader, the two loaders have different numbers of batches. For the length of the complete
    dataset, the loader draws fewer samples than that. If it draws all of them, the finding is refuted.

    ## When it is not reported
    - The losses are summed (`reduction="sum"`), or weighted by the batch size, and divided by the number of samples.
    - The value is multiplied by a number before or after the division.
    - The loader has one sample per batch, or its dataset creates the batches.
    - It is uncertain whether the divisor is the number of samples of this loader.
    - The divisor is the length of the complete dataset, and no other part of it is loaded, or the sum covers several parts.
    - The divisor is the index of the last batch, and not every batch is added, or the loop may end early.
    - The divisor is the length of another loader, but both read the same samples or a part of them, or are iterated in
      parallel, or the loop may end early.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.CrossEntropyLoss.html
    """

    code = "TDR410"
    name = "mean-divided-by-rows"
    level = Level.WARNING
    witness = "SP"
    fix = Fix.UNSAFE
    fix_changes = frozenset({Figure.HERE})
    voided_by = frozenset({"values"})
    subject = EVALUATION
    needs = frozenset({"oracles"})
    only_confirms = True

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every division of such a sum by the rows."""
        if trace.observed:
            for site, trail in seen(trace):
                yield self.finding(site, "means of several samples, or another number", help=BY_ROWS.help, trail=trail)
            for site in answers.divided_by(trace, answers.SAMPLES):
                yield self.finding(site, SCORED, help=BY_ROWS.help, trail=[Step(site, SCORED)])
        else:
            yield from first_per_site((*self._found(trace), *self._mistaken(trace)))

    def _mistaken(self, trace: Trace) -> Iterator[Finding]:
        for found in trace.view(OtherLengths).found():
            if found.scores:
                continue  # TDR412 reports these
            yield self.finding(
                found.average.site,
                found.text,
                help=HELP[found.note],
                trail=found.trail(),
                cause=place(found.added.site),
                edits=divisor(trace, found.average, found.batch, found.by),
            )

    def _found(self, trace: Trace) -> Iterator[Finding]:
        for said, (average, added, mean, batch) in divisions(trace):
            yield self.finding(
                average.site,
                message(said.text, sum=named(added.holder, "the sum")),
                help=said.help,
                trail=[Step(mean.site, said.of), Step(added.site, said.note)],
                cause=place(added.site),
                edits=divisor(trace, average, batch, said.by) if said.replaces(trace, average, batch) else [],
            )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether the loss was computed, of one row or as a sum."""
        if note_of(finding):
            return are_alike(trace, finding) or "it is unknown how many batches the loaders have"
        if is_otherwise(trace, finding) or answers.divides_right(trace, finding.site):
            return True
        return "it is unknown what the loss of a batch is averaged over"

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """Over how many rows the loss is a mean, or how many batches the loaders have."""
        yield from lengths(trace, finding)
        yield from reduced(trace, finding) or answers.divided(trace, finding.site)

    def speaks_alone(self, trace: Trace, finding: Finding) -> bool:
        """Return whether a printed share of right predictions is divided by the number of samples once more."""
        scored = bool(finding.trail) and finding.trail[0].note == SCORED
        return scored and answers.is_share_divided(trace, finding.site)

    def same(self, finding: Finding, seen: Finding) -> bool:
        """Whether the mean that was seen is the one that is added up, or the loaders are those that were seen."""
        if seen.trail and seen.trail[0].note == SCORED:
            return not note_of(finding) and same_place(finding.site, seen.site)
        if note_of(finding) or note_of(seen):
            return says_of_both(finding, seen)
        of_sums = [step.note == SUM for step in (*finding.trail[:1], *seen.trail[:1])]
        return any(same_place(step.site, seen.site) for step in finding.trail[:1]) and len(set(of_sums)) < len(of_sums)
