"""TDR409: a metric compares all pairs, takes the argmax of a single score, or compares booleans with 2."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Figure
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule, Step
from torch_doctor.trace import Compared, Kind, Matched, NumberCompared
from torch_doctor_rules.evaluation.metric_shape import dimensions, truths
from torch_doctor_rules.evaluation.metric_shape.pairs import edits, may_be_one_row
from torch_doctor_rules.judging.evidence import at, count, fact
from torch_doctor_rules.judging.loss_shapes import column_and_row, crossed, shown
from torch_doctor_rules.judging.sample_dimension import are_labels, choices, scores_among
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.subjects import RANKINGS
from torch_doctor_rules.judging.wording import message, named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Ranked, Trace

_SHARED = frozenset((Kind.PROBABILITIES, Kind.LOG_PROBABILITIES))


class MetricShape(Rule):
    """A metric compares a row of predictions with a column of labels, takes the argmax of one score, or adds booleans.

    ## Why is this bad?
    Tensors of different shapes are broadcast. A row of 32 predictions and a column of 32 labels give 1,024 comparisons,
    most of them between unrelated samples. The accuracy exceeds 1, or is no better than chance. And the argmax of a
    single score is always 0, so every sample is assigned class 0, whatever the model predicts.

    An argmax of `[batch, steps, classes]` along the steps has as many answers as there are labels if there are as many
    steps as classes. It chooses a step for each class. Metrics of torchmetrics look for the classes of such scores in dimension 1.

    The sum of two boolean tensors is a boolean tensor: `+` is a logical or. A count such as `(predicted + expected == 2)`
    is therefore 0 for every model.

    ## Example
    ```python
    loader = DataLoader(TensorDataset(torch.randn(64, 4), torch.randint(0, 2, (64, 1)).float()), batch_size=16, shuffle=True)
    for epoch in range(2):
        correct = 0
        for x, y in loader:
            optimizer.zero_grad()
            scores = model(x)
            nn.functional.binary_cross_entropy_with_logits(scores, y).backward()
            optimizer.step()
            correct += (scores.squeeze(1).sigmoid().round() == y).sum().item()
        print(correct / 64)
    ```

    ## Use instead
    ```diff
             optimizer.step()
    -        correct += (scores.squeeze(1).sigmoid().round() == y).sum().item()
    +        correct += (scores.squeeze(1).sigmoid().round() == y.squeeze(1)).sum().item()
         print(correct / 64)
    ```

    ## Fix safety
    The metric changes. The fix squeezes the column where the two are compared. There is no fix for a single score:
    compare it with a threshold, 0 for a logit or 0.5 after a sigmoid.

    ## How the probe confirms it
    It checks the shapes of the compared tensors, or of the scores. If the shapes match, the finding is refuted. For a
    number that no boolean reaches, it checks the dtype of the tensor. In which dimension the loss looks for the classes,
    autograd's graph shows. A copy of the process finishes the evaluation with perfect predictions: if they do not equal the
    labels because the argmax is along another dimension, the probe reports it on its own.

    ## When it is not reported
    - A shape or the batch size is unknown.
    - The batch has one sample.
    - Both sides have an additional dimension.
    - Neither side comes from a model, for example if labels are compared with labels.
    - The argmax is over the batch: TDR216 reports it.
    - No loss of the same output shows which dimension has the classes.
    - Booleans are added to a number or a tensor of numbers, or the project only allows versions of torch before 1.2,
      whose comparisons return numbers.

    ## References
    - https://docs.pytorch.org/docs/stable/notes/broadcasting.html
    - https://docs.pytorch.org/docs/stable/generated/torch.argmax.html
    - https://docs.pytorch.org/docs/stable/tensor_attributes.html#torch-dtype
    """

    code = "TDR409"
    name = "metric-shape"
    level = Level.ERROR
    witness = "SP"
    voided_by = frozenset({"shapes", "inside"})
    subject = RANKINGS
    needs = frozenset({"class_axes", "oracles"})
    fix = Fix.UNSAFE
    fix_changes = frozenset({Figure.HERE})
    only_confirms = True

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every comparison of all pairs, choice among one score that is compared with labels, and test of booleans for a 2."""
        found = (*self._singles(trace), *self._others(trace), *self._pairs(trace))
        yield from first_per_site(found)

    def _singles(self, trace: Trace) -> Iterator[Finding]:
        for compared, choice in choices(trace):
            function = choice.function.rpartition(".")[2]
            if scores_among(choice) == 1 and (trace.observed or _is_answer(compared, choice)):
                yield self.finding(
                    compared.site,
                    message(
                        "`{function}` of a single score is always 0: every sample is assigned the first class",
                        function=function,
                    ),
                    help="compare the score with a threshold: 0 for a logit, 0.5 after a sigmoid",
                    trail=[
                        Step(
                            choice.site,
                            f"it picks the largest of one score, in dimension {choice.dim} of {shown(choice.input)}",
                        )
                    ],
                )

    def _others(self, trace: Trace) -> Iterator[Finding]:
        for site, text, trail in dimensions.others(trace):
            yield self.finding(site, text, help=dimensions.HELP, trail=trail)
        for event, text in truths.compared(trace):
            yield self.finding(event.site, text, help=truths.HELP)

    def _pairs(self, trace: Trace) -> Iterator[Finding]:
        for match in trace.of(Matched):
            if crossed(match.left, match.right) and not may_be_one_row(trace, match):
                column, row = match.left, match.right
                if not column_and_row(column, row):
                    column, row = row, column
                text = "comparing `{row}` {one} with `{column}` {other} broadcasts them: it compares all pairs"
                words = {"row": named(row.name, "a row"), "column": named(column.name, "a column")}
                yield self.finding(
                    match.site,
                    message(text, one=shown(row), other=shown(column), **words),
                    help="give both the same shape: apply `.squeeze(1)` to the column",
                    edits=edits(trace, match),
                )

    def speaks_alone(self, trace: Trace, finding: Finding) -> bool:
        """Return whether perfect predictions do not equal the labels, because of the dimension of the choice."""
        return dimensions.speaks(trace, finding)

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether both were compared there, in shapes that match."""
        if finding.trail:
            found = [choice for compared, choice in choices(trace) if compared.site == finding.site]
            return dimensions.shown(trace, finding, found) if found else False
        return bool(at(trace, finding.site, Matched) or at(trace, finding.site, NumberCompared))

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """The shapes."""
        found = [choice for compared, choice in choices(trace) if compared in at(trace, finding.site, Compared)]
        single = [choice for choice in found if scores_among(choice) == 1]
        if not single and finding.help == dimensions.HELP:
            yield from dimensions.evidence(trace, finding, found)
            return
        if finding.trail or single:
            for choice in [*single, *found][:1]:
                text = f"the largest of {scores_among(choice)} in dimension {choice.dim} of {shown(choice.input)} is picked"
                yield fact(text, scores_among(choice) or 0, "scores", choice)
            return
        yield from truths.shown(trace, finding.site)
        matches = at(trace, finding.site, Matched)
        wrong = [match for match in matches if crossed(match.left, match.right)]
        for match in [*wrong, *matches][:1]:
            often, fits = (len(wrong), "") if wrong else (len(matches), ", which matches,")
            text = f"{shown(match.left)} was compared with {shown(match.right)}{fits} {count(often, 'time')}"
            yield fact(text, often, "times", match)


def _is_answer(compared: Compared, choice: Ranked) -> bool:
    """Whether a model's score is chosen of and judged by labels; of a softmax over one score TDR213 tells."""
    return bool(choice.input.forwards) and choice.input.kind not in _SHARED and are_labels(compared.target)
