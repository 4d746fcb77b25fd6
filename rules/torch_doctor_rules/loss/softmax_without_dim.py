"""TDR212: softmax is called without `dim`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Edit, Figure, Keyword, Rebuild
from torch_doctor.rule import Finding, Fix, Level, Rule
from torch_doctor.trace import Normalised, Trace
from torch_doctor_rules.judging.sites import first_per_site

if TYPE_CHECKING:
    from collections.abc import Iterator

LINEAR = "torch.nn.Linear"
TABLE, IMAGES = 2, 4
"""Dimensions of rows of scores, and of a picture of them for each row."""


class SoftmaxWithoutDim(Rule):
    """Softmax is called without `dim`, so torch guesses the dimension.

    ## Why is this bad?
    Without `dim`, `softmax`, `log_softmax` and `softmin` use dimension 0 for tensors with 0, 1 or 3 dimensions, and
    dimension 1 for all others. A batch of sequences (3 dimensions) is then normalized over the batch, so each sample
    depends on the others. torch warns that this is deprecated.

    ## Example
    ```python
    loader = DataLoader(TensorDataset(torch.randn(64, 4), torch.randint(0, 3, (64,))), batch_size=16, shuffle=True)
    model = nn.Sequential(nn.Linear(4, 3), nn.LogSoftmax())
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
    -model = nn.Sequential(nn.Linear(4, 3), nn.LogSoftmax())
    +model = nn.Sequential(nn.Linear(4, 3), nn.LogSoftmax(dim=1))
     criterion = nn.NLLLoss()
    ```

    ## Fix safety
    The fix inserts the dimension that torch uses for inputs with two or four dimensions, and the last dimension after a
    linear layer. For three dimensions this differs from torch's guess, which is wrong there.

    ## How the probe confirms it
    It does not need to: the source alone shows it.

    ## When it is not reported
    - Some arguments are unknown (`**options`).
    - The function has its own default (`gumbel_softmax`).
    - The softmax has to be removed anyway (TDR201, TDR202).

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.softmax.html
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.Softmax.html
    """

    code = "TDR212"
    name = "softmax-without-dim"
    level = Level.WARNING
    witness = "S"
    fix = Fix.UNSAFE
    fix_changes = frozenset({Figure.OUTPUTS, Figure.LOSS, Figure.GRADIENTS, Figure.UPDATES})
    yields_to = frozenset(("TDR201", "TDR202"))  # there it is the softmax itself that has to go

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every softmax of torch.nn without a dimension."""
        omitted = (event for event in trace.of(Normalised) if event.dim_given is False and not trace.by_version(event))
        for event in first_per_site(event for event in omitted if event.function.startswith("torch.nn.")):
            name = event.function.rpartition(".")[2]
            yield self.finding(
                event.site,
                f"`{name}` gets no `dim`: torch guesses it from the number of dimensions",
                cause="no dim",
                help="pass the dimension of the classes: `dim=1`, or `dim=-1` for the last one",
                edits=_edits(event),
            )


def _edits(event: Normalised) -> list[Edit]:
    """The dimension of the classes, where it is known; `torch.nn.functional._get_softmax_dim` takes 1 of two and of four."""
    shape = event.input.shape or ()
    known = bool(shape) and "..." not in shape
    if known and len(shape) in (TABLE, IMAGES):
        dim = "1"
    elif event.input.operation == LINEAR or (known and len(shape) == 1):
        dim = "-1"
    else:
        return []
    if shape and shape[int(dim)] == 1:  # one score for each: which ones are compared, the source does not say
        return []
    if event.function.startswith("torch.nn.functional."):
        return [Keyword(event.site, "dim", dim)]
    return [Rebuild(event.site, keyword="dim", value=dim)]
