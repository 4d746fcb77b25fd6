"""TDR707: something is fitted on all samples before they are split."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Finding, Level, Rule, Step
from torch_doctor.trace import Fitted, RowsSplit
from torch_doctor_rules.judging.causes import place
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Trace


class FittedBeforeSplit(Rule):
    """A scaler, a vectorizer or a statistic is fitted on all samples before they are split.

    ## Why is this bad?
    The evaluation samples influence the mean, the range or the components that transform the model's inputs: information
    about held-out data leaks into training. The score is higher than it will be on new data. The effect is larger for
    small datasets and for data that drifts, such as prices.

    ## Example
    ```python
    features = 5 + 2 * torch.arange(96.0).view(24, 4).sin()
    normalized = (features - features.mean(dim=0)) / features.std(dim=0)
    train_set, test_set = random_split(TensorDataset(normalized, features.sum(dim=1)), [18, 6])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for x, y in DataLoader(train_set, batch_size=6, shuffle=True):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x).squeeze(1), y).backward()
        optimizer.step()
    ```

    ## Use instead
    ```diff
     features = 5 + 2 * torch.arange(96.0).view(24, 4).sin()
    -normalized = (features - features.mean(dim=0)) / features.std(dim=0)
    -train_set, test_set = random_split(TensorDataset(normalized, features.sum(dim=1)), [18, 6])
    +train_set, test_set = random_split(TensorDataset(features, features.sum(dim=1)), [18, 6])
    +seen = features[train_set.indices]
    +mean, std = seen.mean(dim=0), seen.std(dim=0)
     optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    ...
         optimizer.zero_grad()
    -    nn.functional.mse_loss(model(x).squeeze(1), y).backward()
    +    nn.functional.mse_loss(model((x - mean) / std).squeeze(1), y).backward()
         optimizer.step()
    ```

    ## How the probe confirms it
    It does not: the source shows what is fitted on which samples, so there is nothing to measure.

    ## When it is not reported
    - If the split is not visible in the analyzed code, or nothing is split.
    - For transforms that map each sample separately, or only assign numbers to what they find (label encoders,
      vocabularies).
    - For statistics over the features of a single sample, or fitted on one sample after another.
    - If the samples are themselves a part of other data.

    Several fits before one split are reported once for a file.

    ## References
    - https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.random_split
    - https://scikit-learn.org/stable/common_pitfalls.html#data-leakage
    """

    code = "TDR707"
    name = "fitted-before-split"
    level = Level.ERROR
    witness = "S"

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Yield a finding for every fit on samples that are split later in the same loop iteration."""
        fits = {event.index: event for event in trace.of(Fitted)}
        found = sorted(
            (number, split.index)
            for split in trace.of(RowsSplit)
            for number in split.fits
            if number in fits and set(fits[number].scope.iterations()) <= set(split.scope.iterations())
        )
        splits = {event.index: event for event in trace.of(RowsSplit)}
        yield from first_per_site(self._report(fits[number], splits[split]) for number, split in found)

    def _report(self, fit: Fitted, split: RowsSplit) -> Finding:
        return self.finding(
            fit.site,
            message("`{name}` leaks evaluation data into training: the score is too optimistic", name=fit.name),
            help="split first, fit on the training samples only, and apply the result to the others",
            trail=[Step(split.site, "the same samples are split here")],
            cause=place(split.site),
        )
