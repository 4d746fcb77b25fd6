"""TDR312: almost all units of a ReLU are always zero."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule
from torch_doctor.trace import Trace, UnitsSeen
from torch_doctor_rules.judging.evidence import count, fact
from torch_doctor_rules.judging.subjects import RECTIFIED_UNITS
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST = 0.9  # of the units
UNITS, ROWS, BATCHES = 8, 32, 3  # at least


class DeadUnits(Rule):
    """More than 90 % of the units of a ReLU are zero for every sample of every batch.

    ## Why is this bad?
    A unit that is zero for every input gets no gradient and cannot recover. The layer outputs almost nothing, and the
    model learns from what is left. Typical causes are a learning rate that is too high, weights or biases initialized
    far below zero, inputs that are not scaled, or a ReLU after another one.

    ## Example
    ```python
    model = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 1))
    nn.init.constant_(model[0].bias, -100.0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(5):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(torch.randn(32, 4)), torch.randn(32, 1)).backward()
        optimizer.step()
    ```

    ## Use instead
    ```diff
     model = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 1))
    -nn.init.constant_(model[0].bias, -100.0)
    +nn.init.zeros_(model[0].bias)
     optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    ```

    ## How the probe confirms it
    For each ReLU that runs in training, as a module or as a function after a layer, the probe counts the units that were
    zero in every sample of every batch. `clamp`, `maximum`, `where`, `threshold`, `hardtanh` and a product with a mask
    count if their result is what a ReLU gives.

    ## When it is not reported
    - There are fewer than 8 units, 32 samples or 3 batches.
    - The function is not an activation after a layer (a penalty, a threshold).
    - Data or weights are synthetic.
    - Another finding explains it.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.ReLU.html
    """

    code = "TDR312"
    name = "dead-units"
    level = Level.WARNING
    witness = "P"
    needs = frozenset({"units"})
    voided_by = frozenset({"values", "weights", "files", "inside"})
    subject = RECTIFIED_UNITS
    explained_by = frozenset({"TDR101", "TDR120", "TDR309", "TDR715"})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every activation that is nearly dead."""
        for seen in _dead(trace):
            text = "over 90 % of the units of `{name}` are always zero: they get no gradient and never recover"
            yield self.finding(
                seen.site,
                message(text, name=seen.name),
                help="check the learning rate, the initialization of the layer before, and the scale of the inputs",
            )

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How many units are dead."""
        for seen in _dead(trace):
            if seen.site == finding.site:
                text = f"{seen.dead} of {count(seen.units, 'unit')} are zero in all {seen.rows} samples of {seen.batches} batches"
                yield fact(text, seen.dead, "units", seen)


def _dead(trace: Trace) -> list[UnitsSeen]:
    return [
        seen
        for seen in trace.of(UnitsSeen)
        if seen.units >= UNITS and seen.rows >= ROWS and seen.batches >= BATCHES and seen.dead > MOST * seen.units
    ]
