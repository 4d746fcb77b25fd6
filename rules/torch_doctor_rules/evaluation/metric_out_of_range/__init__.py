"""TDR412: a metric cannot be right, because perfect predictions do not get the best score."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule, same_place
from torch_doctor.trace import AnswersScored
from torch_doctor_rules.evaluation.metric_out_of_range.counts import GATHERED, Counts
from torch_doctor_rules.evaluation.metric_out_of_range.scored import (
    COUNTED,
    SETTLED,
    confirm,
    figures,
    note_of,
    shown,
    speaks,
    step,
)
from torch_doctor_rules.judging.answers import is_right, scored
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.subjects import EVALUATION

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Trace


class MetricOutOfRange(Rule):
    """A metric cannot be right: perfect predictions score more or less than 1, or every prediction scores the same.

    ## Why is this bad?
    An accuracy is the number of correct predictions divided by the number of labels. If it is divided by the number of
    batches, it is the batch size for a perfect model. If every sample has several labels, such as tags or pixels, and the
    count is divided by the number of samples, it reaches the number of labels per sample. Divided by the length of
    another set, it never gets near 1. Such a figure cannot be compared with a published one, or with chance.

    A probability that is converted to an integer is 0 unless it is exactly 1, and every probability exceeds 0. The
    predictions are then the same for every model, and the metric only shows how frequent a class is.

    A loader that accelerate prepares fills up its last batches with other samples, so that each process gets as many.
    `gather` and `reduce` count these samples twice: the figure may exceed 1. `gather_for_metrics` drops them.

    ## Example
    ```python
    loader = DataLoader(TensorDataset(torch.randn(64, 4), torch.randint(0, 3, (64,))), batch_size=16)
    model = nn.Linear(4, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    correct = 0
    with torch.no_grad():
        for x, y in loader:
            correct += (model(x).argmax(dim=1) == y).sum().item()
    print(correct / len(loader))
    ```

    ## Use instead
    ```diff
             correct += (model(x).argmax(dim=1) == y).sum().item()
    -print(correct / len(loader))
    +print(correct / len(loader.dataset))
    ```

    ## How the probe confirms it
    A copy of the process finishes the evaluation with other predictions, which are created from the labels: perfect ones,
    the same class for all samples, the labels in another order, and random classes. The figure follows the share of correct
    predictions, but perfect ones score neither 1 nor 100. Or it is a share that is the same for all of them. If perfect
    predictions score 1 or 100 where the figure is computed, the finding is refuted. The probe reports a printed figure on its
    own if it exceeds 1 in this way.

    The probe needs labels of at least two classes in batches of a data loader or in variables that the loop assigns, a model
    that returns one score per class or label, and an evaluation that runs to its end in a few seconds. It does not try this on
    a GPU.

    ## When it is not reported
    - The batch size is 1, or unresolved code chooses the batches.
    - A count is divided by the number of batches since the last report, and each has 100 samples: that is a percentage.
    - The quotient is divided or multiplied again by a number other than 100.
    - The labels are repeated or broadcast before the comparison, as for the accuracy among the best five classes.
    - The marks of a sample are combined by `all`, `any` or `mean` before they are counted.
    - The share of correct predictions in each batch is summed: TDR405 and TDR410 check how such sums are averaged.
    - The number of samples is counted or computed in a way that cannot be resolved.
    - For `gather` and `reduce`: the samples are known to fill all batches, or the accelerator has settings for its batches.

    ## References
    - https://docs.pytorch.org/tutorials/beginner/basics/optimization_tutorial.html#full-implementation
    """

    code = "TDR412"
    name = "metric-out-of-range"
    level = Level.ERROR
    witness = "SP"
    voided_by = frozenset({"values"})
    subject = EVALUATION
    needs = frozenset({"oracles"})
    explained_by = frozenset({"TDR214", "TDR408", "TDR409", "TDR410", "TDR712"})
    only_confirms = True

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Yield every figure that perfect predictions do not bring to its best."""
        if not trace.observed:
            yield from first_per_site(self._found(trace))
            return
        for event in scored(trace):
            for note in (COUNTED, SETTLED):
                if confirm(event, note):
                    best = f"perfect predictions score {event.figures[1]:.4g} in this figure"
                    trail = step(trace, (event.forward,), note)
                    yield self.finding(event.site, best, help="divide by the number of labels", trail=trail)

    def _found(self, trace: Trace) -> Iterator[Finding]:
        for score in trace.view(Counts).found():
            yield self.finding(score.event.site, score.text, help=score.help, trail=score.trail)

    def speaks_alone(self, trace: Trace, finding: Finding) -> bool:
        """Return whether a figure is printed and exceeds 1, as no sum, count or percentage does."""
        return speaks(trace, finding)

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Return whether perfect predictions got the score that they should."""
        if any(each.note == GATHERED for each in finding.trail):
            return "no sample is repeated in a run of one process"
        found, here = figures(trace, finding)
        if here and any(is_right(event) for event in found):
            return True
        why = [event.unknown for event in trace.of(AnswersScored) if event.unknown]
        if found or why:
            return "the probe run could not score predictions made from labels" + "".join(
                f": {each}" for each in why[:1]
            )
        return False

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """Yield the scores of predictions that are made from the labels."""
        yield from shown(trace, finding)

    def same(self, finding: Finding, seen: Finding) -> bool:
        """Return whether the figure that was seen is the one of the finding, or another one of the same pass."""
        if note_of(finding) != note_of(seen) or not seen.trail:
            return False
        within = same_place(finding.trail[-1].site, seen.trail[-1].site)
        return same_place(finding.site, seen.site) or within
