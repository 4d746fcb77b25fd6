"""TDR409: a metric compares all pairs, or takes the argmax of a single score."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Figure, Wrap
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule, Step
from torch_doctor.trace import Compared, Kind, Matched
from torch_doctor_rules.judging.evidence import at, count, fact
from torch_doctor_rules.judging.loaders import Loaders
from torch_doctor_rules.judging.loss_shapes import column_and_row, crossed, shown
from torch_doctor_rules.judging.sample_dimension import are_labels, choices, scores_among
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.subjects import RANKINGS
from torch_doctor_rules.judging.wording import message, named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.edits import Edit
    from torch_doctor.trace import Ranked, Trace

_SHARED = frozenset((Kind.PROBABILITIES, Kind.LOG_PROBABILITIES))


class MetricShape(Rule):
    """A metric compares a row of predictions with a column of labels, or takes the argmax of a single score.

    ## Why is this bad?
    Tensors of different shapes are broadcast. A row of 32 predictions and a column of 32 labels give 1,024 comparisons,
    most of them between unrelated samples. The accuracy exceeds 1, or is no better than chance. And the argmax of a
    single score is always 0, so every sample is assigned class 0, whatever the model predicts.

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
    It checks the shapes of the compared tensors, or of the scores. If the shapes match, the finding is refuted.

    ## When it is not reported
    - A shape or the batch size is unknown.
    - The batch has one sample.
    - Both sides have an additional dimension.
    - Neither side comes from a model, for example if labels are compared with labels.
    - The argmax is over the batch: TDR216 reports it.

    ## References
    - https://docs.pytorch.org/docs/stable/notes/broadcasting.html
    - https://docs.pytorch.org/docs/stable/generated/torch.argmax.html
    """

    code = "TDR409"
    name = "metric-shape"
    level = Level.ERROR
    witness = "SP"
    voided_by = frozenset({"shapes", "inside"})
    subject = RANKINGS
    fix = Fix.UNSAFE
    fix_changes = frozenset({Figure.HERE})
    only_confirms = True

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every comparison of all pairs, and every choice among one score that is compared with labels."""
        yield from first_per_site((*self._singles(trace), *self._pairs(trace)))

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

    def _pairs(self, trace: Trace) -> Iterator[Finding]:
        for match in trace.of(Matched):
            if crossed(match.left, match.right) and not _may_be_one_row(trace, match):
                column, row = match.left, match.right
                if not column_and_row(column, row):
                    column, row = row, column
                text = "comparing `{row}` {one} with `{column}` {other} broadcasts them: it compares all pairs"
                words = {"row": named(row.name, "a row"), "column": named(column.name, "a column")}
                yield self.finding(
                    match.site,
                    message(text, one=shown(row), other=shown(column), **words),
                    help="give both the same shape: apply `.squeeze(1)` to the column",
                    edits=_edits(trace, match),
                )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether both were compared there, in shapes that match."""
        if finding.trail:
            return any(compared.site == finding.site for compared, _ in choices(trace))
        return bool(at(trace, finding.site, Matched))

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """The shapes."""
        found = [choice for compared, choice in choices(trace) if compared in at(trace, finding.site, Compared)]
        single = [choice for choice in found if scores_among(choice) == 1]
        if finding.trail or single:
            for choice in [*single, *found][:1]:
                text = f"the largest of {scores_among(choice)} in dimension {choice.dim} of {shown(choice.input)} is picked"
                yield fact(text, scores_among(choice) or 0, "scores", choice)
            return
        matches = at(trace, finding.site, Matched)
        wrong = [match for match in matches if crossed(match.left, match.right)]
        for match in [*wrong, *matches][:1]:
            often, fits = (len(wrong), "") if wrong else (len(matches), ", which matches,")
            text = f"{shown(match.left)} was compared with {shown(match.right)}{fits} {count(often, 'time')}"
            yield fact(text, often, "times", match)


def _may_be_one_row(trace: Trace, match: Matched) -> bool:
    """Whether nobody knows how many rows the loader puts into a batch."""
    number = match.left.loader or match.right.loader
    loader = trace.view(Loaders).built.get(number)
    return loader is not None and loader.batch is None and not trace.observed


def _is_answer(compared: Compared, choice: Ranked) -> bool:
    """Whether a model's score is chosen of and judged by labels; of a softmax over one score TDR213 tells."""
    return bool(choice.input.forwards) and choice.input.kind not in _SHARED and are_labels(compared.target)


def _edits(trace: Trace, match: Matched) -> list[Edit]:
    """The column as a row, where it is the same one of the two whenever they meet at this place."""
    alike = [event for event in trace.of(Matched) if event.site == match.site]
    places = {event.left_at if column_and_row(event.left, event.right) else event.right_at for event in alike}
    place = places.pop() if len(places) == 1 and all(crossed(event.left, event.right) for event in alike) else None
    return [] if place is None else [Wrap(place, "{}.squeeze(1)")]
