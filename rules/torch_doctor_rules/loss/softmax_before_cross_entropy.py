"""TDR201: probabilities go into cross-entropy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Figure, Unwrap
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule
from torch_doctor.trace import Kind, Trace
from torch_doctor_rules.judging.loss_inputs import (
    CROSS_ENTROPY,
    at_loss,
    made_before,
    reached_loss,
    same_loss,
    trail_to_loss,
)
from torch_doctor_rules.judging.readers import line, reader
from torch_doctor_rules.judging.subjects import CLASS_LOSSES
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator


HELP = "give the loss the raw scores, and apply the softmax only where probabilities are read"


class SoftmaxBeforeCrossEntropy(Rule):
    """Probabilities go into a loss that applies the softmax itself.

    ## Why is this bad?
    `CrossEntropyLoss` expects raw scores and applies log-softmax to them. Of probabilities, which lie between 0 and 1,
    it makes an almost flat distribution: the loss cannot fall below about 0.55 for two classes (1.46 for ten), its
    gradients are small, and training is slow or stalls although everything runs.

    ## Example
    ```python
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    loader = DataLoader(TensorDataset(torch.randn(64, 4), torch.randint(0, 3, (64,))), batch_size=16, shuffle=True)
    model = nn.Sequential(nn.Linear(4, 3), nn.Softmax(dim=1))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    for epoch in range(2):
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    loader = DataLoader(TensorDataset(torch.randn(64, 4), torch.randint(0, 3, (64,))), batch_size=16, shuffle=True)
    model = nn.Sequential(nn.Linear(4, 3))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    for epoch in range(2):
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
    ```

    ## Fix safety
    The fix removes the softmax. It is not offered where anything besides the loss depends on the values: a threshold, a
    metric, arithmetic, a file, an exported model, unresolved code. The help names such a line: apply the softmax there.
    Choosing the largest along the same dimension gives the same result without the softmax.

    ## How the probe confirms it
    The graph behind the loss has a softmax under the log-softmax; that the values lie in [0, 1] and sum to 1 supports
    it.

    ## When it is not reported
    When the softmax serves attention, metrics or predictions only, when it lies behind a flag, when the loss is
    another one (`NLLLoss`, a binary loss), when a layer that is called `softmax` is a log-softmax, and when the
    probabilities are centred or multiplied by a large number: they are scores again.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.CrossEntropyLoss.html
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.Softmax.html
    """

    code = "TDR201"
    name = "softmax-before-cross-entropy"
    level = Level.ERROR
    witness = "SP"
    voided_by = frozenset({"inside"})
    subject = CLASS_LOSSES
    fix = Fix.UNSAFE
    fix_changes = frozenset({Figure.LOSS, Figure.GRADIENTS, Figure.UPDATES})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every softmax whose result reaches cross-entropy."""
        for operation_at, loss in made_before(trace, Kind.PROBABILITIES, CROSS_ENTROPY):
            read = reader(trace, operation_at, CROSS_ENTROPY)
            yield self.finding(
                operation_at,
                message(
                    "softmax comes before `{loss}`, which applies it again: gradients nearly vanish", loss=loss.name
                ),
                help=HELP if read is None or read == operation_at else f"{HELP}: {line(read, operation_at)} reads them",
                trail=trail_to_loss(trace, operation_at, loss, "the softmax is applied here"),
                edits=[Unwrap(operation_at)] if read is None else [],
            )

    def same(self, finding: Finding, seen: Finding) -> bool:
        """Whether both lead to one loss."""
        return same_loss(finding, seen)

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether the loss was computed of something else."""
        return reached_loss(trace, finding.trail[-1].site, Kind.PROBABILITIES)

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How many losses got them."""
        return at_loss(trace, finding.trail[-1].site, "what a softmax had made", Kind.PROBABILITIES)
