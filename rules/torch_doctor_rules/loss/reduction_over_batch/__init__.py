"""TDR216: softmax, argmax or top-k is taken over the batch dimension, or positions are counted along it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Figure, Keyword
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule, Step
from torch_doctor.trace import (
    Compared,
    Normalised,
    PositionsAdded,
    Ranked,
    Trace,
    WeightsSummed,
    claims,
)
from torch_doctor_rules.judging.evidence import at, fact, number, short
from torch_doctor_rules.judging.loss_shapes import shown
from torch_doctor_rules.judging.sample_dimension import mixes_samples
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.subjects import RANKINGS
from torch_doctor_rules.judging.wording import message
from torch_doctor_rules.loss.reduction_over_batch import positions, rows, weights

if TYPE_CHECKING:
    from collections.abc import Iterator


HELP = "reduce over the class dimension: `dim=1`"
CHOSEN = "`{function}` reduces the batch dimension: it picks a sample per class, not a class per sample"
SHARED = "`{function}` normalizes over the batch: a sample's probabilities depend on the other samples"


class ReductionOverBatch(Rule):
    """Softmax, argmax or top-k is taken over the batch dimension instead of the class dimension.

    ## Why is this bad?
    Class scores of a batch have the shape `[batch, classes]`, so dimension 0 holds the samples. A softmax with `dim=0`
    distributes 1 among the samples for each class: the probabilities of one sample do not sum to 1, and depend on the
    other samples in the batch. An argmax, top-k or `max` with `dim=0` picks a sample for each class instead of a class
    for each sample. If the batch has as many samples as there are classes, no error is raised.

    Attention weights that are normalized over the batch compare the steps of different samples, and the weights of one
    sample do not sum to 1.

    ## Example
    ```python
    loader = DataLoader(TensorDataset(torch.randn(64, 4), torch.randint(0, 3, (64,))), batch_size=16, shuffle=True)
    model = nn.Sequential(nn.Linear(4, 3), nn.LogSoftmax(dim=0))
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
    -model = nn.Sequential(nn.Linear(4, 3), nn.LogSoftmax(dim=0))
    +model = nn.Sequential(nn.Linear(4, 3), nn.LogSoftmax(dim=1))
     criterion = nn.NLLLoss()
    ```

    ## How the probe confirms it
    It checks the reduced dimension and the shape, and the sum of the probabilities of one sample. For an encoding, it
    compares its number of rows with the number of samples that the loader gave.

    ## When it is not reported
    - Nothing shows that each row is a sample. The output of the softmax has to reach a classification loss, or a class
      has to be chosen for each of its rows. The result of an argmax or top-k has to be compared with labels. This
      excludes scores of a single sample, attention over steps, stacked models, pairwise similarities, per-sample
      losses, parameters, prototypes, rankings, and the most confident samples of each class.
    - The weights are summed over the batch, too, or compare pairs (TDR220).
    - Each sample has one weight, or may have one, and the sum adds up what the weight is multiplied by.
    - TDR203, TDR212 or TDR213 reports the same operation.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.softmax.html
    - https://docs.pytorch.org/docs/stable/generated/torch.argmax.html
    - https://docs.pytorch.org/docs/stable/generated/torch.topk.html
    """

    code = "TDR216"
    name = "reduction-over-batch"
    level = Level.ERROR
    witness = "SP"
    voided_by = frozenset({"shapes", "inside"})
    subject = RANKINGS
    needs = frozenset({"positions", "array_axes"})
    fix = Fix.UNSAFE
    fix_changes = frozenset({Figure.OUTPUTS, Figure.LOSS, Figure.GRADIENTS, Figure.UPDATES, Figure.HERE})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every softmax, argmax and top-k over dimension 0 of what is read row by row."""
        yield from first_per_site(self._found(trace))

    def _found(self, trace: Trace) -> Iterator[Finding]:
        for event in filter(rows.over_batch, trace.of(Normalised)):
            reason = next(rows.readers(trace, event), None)
            if reason is not None:
                yield self._said(event, SHARED, reason)
        yield from map(self._weighted, weights.over_batch(trace))
        for added in positions.over_batch(trace):
            yield self.finding(added.site, message(positions.TEXT, name=added.name or "the sum"), help=positions.HELP)
        for used in trace.of(Compared):
            for choice in trace.at(used.chosen):
                if isinstance(choice, Ranked) and rows.over_batch(choice) and mixes_samples(trace, choice, used.target):
                    yield self._said(choice, CHOSEN, Step(used.site, "the result is compared with labels here"))

    def _weighted(self, event: WeightsSummed) -> Finding:
        named = message(weights.TEXT, function="softmax", product=event.product)
        trail = (Step(event.used_at, "the weights are summed here"),)
        return self.finding(event.site, named, help=weights.remedy(event), trail=trail, edits=weights.edits(event))

    def speaks_alone(self, trace: Trace, finding: Finding) -> bool:  # noqa: ARG002 - as all rules
        """Whether it is about neither weights nor positions: of these only the source shows that they are meant for steps."""
        return not (weights.is_remedy(finding.help) or finding.help == positions.HELP)

    def _said(self, event: Normalised | Ranked, text: str, reason: Step) -> Finding:
        named = message(text, function=event.function.rpartition(".")[2])
        edits = [] if event.of_array else [Keyword(event.site, "dim", "1", -1)]
        return self.finding(event.site, named, help=HELP, trail=(reason,), edits=edits)

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether it went over another dimension, or over the only one."""
        if finding.help == positions.HELP:
            return bool(at(trace, finding.site, PositionsAdded))
        found = _events(trace, finding)
        if any(map(rows.over_batch, found)) and not at(trace, finding.site, WeightsSummed):
            return "dimension 0 was reduced, but the probe run does not show whether each row is a sample"
        return bool(found)

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """Over how many samples it went, and what the probabilities of one of them sum to."""
        yield from positions.shown(trace, finding.site)
        found = _events(trace, finding)
        for event in [*filter(rows.over_batch, found), *found][:1]:
            shape, dim = event.input.shape or (), event.dim
            if dim is not None and -len(shape) <= dim < len(shape):
                text = f"it reduces {shape[dim]} elements in dimension {dim} of {shown(event.input)}"
                yield fact(text, shape[dim], "elements", event)
            low, high = number(trace, claims.SMALLEST_SUM, event), number(trace, claims.LARGEST_SUM, event)
            if low is not None and high is not None:
                yield fact(
                    f"the probabilities of a sample sum to between {short(low)} and {short(high)}", high, "", event
                )


def _events(trace: Trace, finding: Finding) -> list[Normalised | Ranked]:
    return [*at(trace, finding.site, Normalised), *at(trace, finding.site, Ranked)]
