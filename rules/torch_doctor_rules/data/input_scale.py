"""TDR715: a model learns only when its inputs or targets are standardized."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule
from torch_doctor.trace import PixelsGiven, ScaleCompared
from torch_doctor_rules.judging.evidence import at, fact, short
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Trace

REMEDIES = {
    "inputs": "subtract the mean of each column of the training data, and divide by its standard deviation",
    "targets": "standardize the targets, and scale predictions back for reports and metrics",
    "both": "standardize each column of the inputs, and the targets, by the mean and deviation of the training data",
}


class InputScale(Rule):
    """The inputs or regression targets have a scale from which the model hardly learns, while it learns from standardized ones.

    ## Why is this bad?
    Weights are initialized for inputs with a mean of 0 and a standard deviation of 1, and predictions start near 0. If columns
    have a scale of thousands, or differ by orders of magnitude, one learning rate cannot fit them all: training diverges, or
    only follows the largest column. If targets lie around 300,000, most steps are spent on reaching their mean.

    ## Example
    ```python
    area, rooms = 400 + 3000 * torch.rand(160), torch.randint(1, 9, (160,)).float()
    features = torch.stack([area, rooms], 1)
    prices = (90_000 + 120 * area + 9_000 * rooms).unsqueeze(1)
    model = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
    for step in range(5):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(features), prices).backward()
        optimizer.step()
    ```

    ## Use instead
    ```diff
     prices = (90_000 + 120 * area + 9_000 * rooms).unsqueeze(1)
    +features = (features - features.mean(0)) / features.std(0)
    +prices = (prices - prices.mean()) / prices.std()
     model = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1))
    ```

    ## How the probe confirms it
    A column that the first layer gets has a root mean square of at least 20, the targets have one of at least 100, or the
    standard deviations of columns differ by a factor of 1000. A copy of the process then trains on the first batches, with
    the data as they are and standardized, from the same weights and with the optimizer of the script. With the data as they
    are, the loss stays above 80 % of the loss of a constant prediction for 800 steps. Standardized, it falls below that and
    below half of the other loss in 100 steps. The same holds, for 400 and 100 steps, with two other initial weights. If a
    step takes long, 240 and 60 steps and one other draw of initial weights have to do. `torch-doctor checkup` draws both curves.

    ## When it is not reported
    - If the model also learns from the data as they are, if only with a learning rate that was tuned for them.
    - If a normalization or an embedding is the first layer.
    - If substitutes replace the data of the script.
    - If a copy cannot repeat the steps: several models or losses, a loss that is no usual one, gradient accumulation or
      scaling, a model on a GPU, or steps that take too long.
    - Images with values from 0 to 255 are reported by TDR711, a scaled copy that is never used by TDR131.

    ## References
    - https://scikit-learn.org/stable/modules/preprocessing.html#standardization-or-mean-removal-and-variance-scaling
    - https://docs.pytorch.org/docs/stable/nn.init.html
    """

    code = "TDR715"
    name = "input-scale"
    level = Level.WARNING
    witness = "P"
    needs = frozenset({"data_scale"})
    voided_by = frozenset({"values", "shapes"})
    explained_by = frozenset({"TDR131", "TDR711"})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Yield every call of a model that learns from standardized data alone."""
        for seen in trace.of(ScaleCompared):
            if seen.seeds and not at(trace, seen.site, PixelsGiven):
                what = "inputs and targets" if seen.what == "both" else f"its {seen.what}"
                text = f"`{{name}}` learns many times faster when {what} are standardized"
                yield self.finding(seen.site, message(text, name=seen.name or "the model"), help=REMEDIES[seen.what])

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """Yield the scales, and the losses of both trainings."""
        for seen in at(trace, finding.site, ScaleCompared)[:1]:
            if seen.inputs and seen.what != "targets":
                largest, column, columns = seen.inputs[0], int(seen.inputs[1]), int(seen.inputs[2])
                which = f"column {column} of {columns} of the input has" if columns > 1 else "the input has"
                yield fact(f"{which} a root mean square of {short(largest)}", largest, "", seen)
            if seen.targets and seen.what != "inputs":
                yield fact(
                    f"the targets have a root mean square of {short(seen.targets[0])}", seen.targets[0], "", seen
                )
            text = (
                "loss of a copy, where a constant prediction has 1: {:.2g} after {} steps, standardized {:.2g} after {}"
            )
            yield fact(text.format(seen.best, seen.longer, seen.end, seen.steps), seen.end, "", seen)
