"""TDR411: a metric counts labels that the loss ignores."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from torch_doctor.edits import Figure, Keyword, Wrap
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule, Step, same_place
from torch_doctor.trace import Forward, PaddingScored, PredictionsPassed
from torch_doctor_rules.judging.evidence import fact, two
from torch_doctor_rules.judging.ignored_labels import IgnoredLabels
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.subjects import EVALUATION
from torch_doctor_rules.judging.wording import message, named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.edits import Edit
    from torch_doctor.trace import Trace

_PADDED = "`{score}` counts padded labels, so it depends on the lengths of the sequences"
_IGNORED = "`{score}` counts labels that the loss ignores"
_HELP = "leave out the labels that the loss ignores"
_NUMBER = re.compile(r"-?\d+")
_COMPARED = "the labels are compared with this output"
_PASSED = "this function gets the predictions and labels"
_SCORED = "all results of the comparison count here"


class MetricCountsPadding(Rule):
    """A metric counts padded or void labels, which the loss ignores.

    ## Why is this bad?
    The loss ignores padding and void labels, so the model learns nothing about them, and what it predicts there is
    arbitrary. A metric that counts these positions depends on the lengths of the sequences and on the batches as much as
    on the model. If the padding has a value that no class has, such as -100, every padded position counts as an error: with
    half of the positions padded, a perfect model has an accuracy of 0.5.

    ## Example
    ```python
    maps = torch.randint(0, 3, (32, 8, 8))
    maps[:, :2] = 255
    loader = DataLoader(TensorDataset(torch.randn(32, 3, 8, 8), maps), batch_size=8)
    model = nn.Conv2d(3, 3, 3, padding=1)
    criterion = nn.CrossEntropyLoss(ignore_index=255)
    optimizer = torch.optim.Adam(model.parameters())
    for x, y in loader:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()
    model.eval()
    scores = []
    with torch.no_grad():
        for x, y in loader:
            scores.append((model(x).argmax(dim=1) == y).float().mean().item())
    print(sum(scores) / len(scores))
    ```

    ## Use instead
    ```diff
         for x, y in loader:
    -        scores.append((model(x).argmax(dim=1) == y).float().mean().item())
    +        scores.append(((model(x).argmax(dim=1) == y)[y != 255]).float().mean().item())
     print(sum(scores) / len(scores))
    ```

    ## Fix safety
    The metric changes: it is the mean over fewer labels. The fix selects them where they are compared, if their mean is
    computed in the same expression, or sets `ignore_index` where a metric of torchmetrics is created. There is no fix for
    a count that is divided elsewhere: the number of all labels has to change, too.

    ## How the probe confirms it
    Copies of the process finish the evaluation with predictions that are created from the labels: correct ones, and correct
    ones with another class at the ignored positions. The finding is confirmed if the score differs between them, or if
    correct predictions score exactly the share of labels that are not ignored. If both score 1 or 100, it is refuted.

    The probe needs a model that returns one score per class for each position, labels of the same shape in batches of a data
    loader, and an evaluation that runs to its end in a few seconds. It does not try this on a GPU. Of a transformers
    `Trainer`, it calls `compute_metrics` with such predictions.

    ## When it is not reported
    - The source does not show that labels are padded, and no loss of the same model names an `ignore_index`.
    - The loss counts the padding, too: that is TDR217, or the padding is a class of its own.
    - The results are selected or weighted by a mask or by lengths, or divided by the number of labels that count.
    - The results of a sample are combined by `all` or `any`, as for the accuracy of complete sequences.
    - The labels or predictions are modified in place or passed to unresolved code before they are compared.
    - A metric of a library has an `ignore_index`, `labels` or weights, or returns one score for each class.
    - A metric of torchmetrics gets labels that are none of its classes: it refuses them.
    - A library computes the metric in another way: for sequences of names, or in a collection of metrics.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.CrossEntropyLoss.html
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.rnn.pad_sequence.html
    """

    code = "TDR411"
    name = "metric-counts-padding"
    level = Level.ERROR
    witness = "SP"
    voided_by = frozenset({"values"})
    subject = EVALUATION
    needs = frozenset({"padded_scores"})
    fix = Fix.UNSAFE
    fix_changes = frozenset({Figure.HERE})
    only_confirms = True

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Yield the first score at each place that counts labels which a loss leaves out."""
        yield from first_per_site(self._found(trace))

    def _found(self, trace: Trace) -> Iterator[Finding]:
        for event, fill in trace.view(IgnoredLabels).scores():
            padded, scored = event.padded_at, event.scored_at
            forwards = [
                each for each in trace.at(*sorted(event.forwards)) if isinstance(each, (Forward, PredictionsPassed))
            ]
            yield self.finding(
                event.site,
                message(_PADDED if padded is not None else _IGNORED, score=named(event.name, "a score")),
                help=f"{_HELP}: those that are {fill}" if fill and _NUMBER.fullmatch(fill) else _HELP,
                trail=[
                    *([Step(padded, "shorter sequences are padded here")] if padded is not None else []),
                    *([Step(scored, _SCORED)] if scored is not None else []),
                    *(Step(each.site, _COMPARED if isinstance(each, Forward) else _PASSED) for each in forwards[-1:]),
                ],
                edits=_edits(event, fill),
            )

    def same(self, finding: Finding, seen: Finding) -> bool:
        """Return whether a score that was seen is that of the finding, or another one of the same pass."""
        return any(same_place(step.site, seen.site) for step in finding.trail) or (
            bool(seen.trail and finding.trail) and same_place(finding.trail[-1].site, seen.trail[-1].site)
        )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Return whether the score of the finding is right, whatever is predicted for the ignored labels."""
        events = _scores(trace, finding)
        if any(event.counted is False for event in events):
            return True
        why = [event.unknown for event in trace.of(PaddingScored) if event.unknown]
        if events or why:
            text = "the probe run could not score other predictions for the ignored labels"
            return text + "".join(f": {each}" for each in why[:1])
        return False

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """Yield how many labels are ignored, and the scores of predictions that are right for all others."""
        for event in [each for each in _scores(trace, finding) if each.counted is not None][:1]:
            yield fact(f"{event.positions:,} of {event.of:,} labels are ignored", event.positions, "labels", event)
            right, other = two(event.right, event.other).split(" and ")
            text = f"predictions that are correct for all others score {right}"
            if right != other:
                text += f" or {other}, depending on those for the ignored labels"
            yield fact(text, event.other, "", event)


def _edits(event: PaddingScored, fill: str) -> list[Edit]:
    """Leave out the labels with this value, in the comparison or by the settings of a metric."""
    if not _NUMBER.fullmatch(fill):
        return []
    if event.settings_at is not None:
        return [Keyword(event.settings_at, "ignore_index", fill)]
    return [Wrap(event.site, f"({{}})[{event.labels} != {fill}]")] if event.labels else []


def _scores(trace: Trace, finding: Finding) -> list[PaddingScored]:
    """Return the scores at the place where that of a finding is computed, else all of the pass; those that count first."""
    found = [
        event
        for event in trace.of(PaddingScored)
        if any(
            same_place(each.site, step.site)
            for each in trace.at(*sorted(event.forwards))
            for step in finding.trail[-1:]
        )
    ]
    here = [event for event in found if any(same_place(event.site, step.site) for step in finding.trail)]
    return sorted(here or found, key=lambda event: event.counted is not True)
