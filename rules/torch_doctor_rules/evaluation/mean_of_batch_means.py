"""TDR405: an average in which a short last batch counts as much as a full one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule, Step, same_place
from torch_doctor.trace import LoaderBuilt
from torch_doctor_rules.judging.batch_means import BatchMeans
from torch_doctor_rules.judging.evidence import at, fact
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.subjects import EVALUATION
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Trace


_MEAN = "`{name}` gives a short last batch the weight of a full one"
_SUM = "the average of `{name}` gives a short last batch the weight of a full one"


class MeanOfBatchMeans(Rule):
    """What an evaluation decides or reports is the average of its batches' means, and a short last batch weighs too much.

    ## Why is this bad?
    A loss is the mean over its batch. Of 50 rows in batches of 16 the last two are a batch of their own, and each of them
    counts eight times as much as any other row: the number depends on the batch size, and on the order of the rows.

    ## Example
    ```python
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in torch.randn(8, 16, 4):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), x[:, :1]).backward()
        optimizer.step()

    test_loader = DataLoader(TensorDataset(torch.randn(50, 4), torch.randn(50, 1)), batch_size=16)
    total = 0.0
    with torch.no_grad():
        for x, y in test_loader:
            total += nn.functional.mse_loss(model(x), y).item()
    print(total / len(test_loader))
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in torch.randn(8, 16, 4):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), x[:, :1]).backward()
        optimizer.step()

    test_loader = DataLoader(TensorDataset(torch.randn(50, 4), torch.randn(50, 1)), batch_size=16)
    total = 0.0
    with torch.no_grad():
        for x, y in test_loader:
            total += nn.functional.mse_loss(model(x), y).item() * len(x)
    print(total / len(test_loader.dataset))
    ```

    ## How the probe confirms it
    The loader that is evaluated leaves fewer rows for its last batch than a batch has; rows that divide evenly refute it.

    ## When it is not reported
    For averages of training, and those of an evaluation that are only shown: in a loop that trains, one is reported where it
    is compared with something or given to a scheduler; outside of any, it is the result. For passes with autograd and
    training mode both on, losses that are summed (`reduction="sum"`) or weighted by the size of the batch, and sums that are
    divided by something else than the number of their batches. For loaders of one batch or one row at a time, that drop the
    last batch, whose rows are known to divide evenly, or come as a stream or from code out of sight, random batches of one
    size, and where nothing shows which loader alone gives the batches.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.CrossEntropyLoss.html
    - https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.DataLoader
    """

    code = "TDR405"
    name = "mean-of-batch-means"
    level = Level.WARNING
    witness = "SP"
    voided_by = frozenset({"values"})
    subject = EVALUATION
    only_confirms = True

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every average that matters of an evaluation over batches of which the last may be short."""
        means = trace.view(BatchMeans)
        if trace.observed:  # a run shows the rows, and no sums of numbers
            yield from (
                self.finding(loader.site, "the last batch is short", help="weigh each batch by its size")
                for loader, _ in means.loaders.evaluating()
                if means.falls_short(loader)
            )
            return
        for found in means.averages():
            steps = [Step(found.loader.site, "the last batch of this loader may be short")]
            steps.append(Step(found.mean.site, "this is the mean over one batch"))
            steps += [Step(found.added.site, "every batch adds one")] if found.added is not None else []
            yield self.finding(
                found.average.site,
                message(
                    _SUM if found.added else _MEAN, name=(found.added.holder if found.added else found.average.name)
                ),
                help="weigh each batch by its size, and divide by the number of rows",
                trail=steps,
            )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether the loader was evaluated, and its rows divide evenly."""
        means = trace.view(BatchMeans)
        evaluated = [each for each in self._built(trace, finding) if means.loaders.evaluates(each.loader)]
        if any(each.rows is None for each in evaluated):
            return "how many rows the loader gives cannot be asked"
        return bool(evaluated)

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How many rows the last batch has."""
        loaders = trace.view(BatchMeans).loaders
        for loader in (*at(trace, finding.site, LoaderBuilt), *self._built(trace, finding)):
            if loaders.evaluates(loader.loader) and loader.rows is not None and loader.batch:
                last = loader.rows % loader.batch or loader.batch
                text = f"{loader.rows:,} rows in batches of {loader.batch}: the last one has {last}"
                yield fact(text, last, "rows", loader)
                return

    def same(self, finding: Finding, seen: Finding) -> bool:
        """Whether the average is over the batches of the loader that was seen."""
        return any(same_place(step.site, seen.site) for step in finding.trail[:1])

    def _built(self, trace: Trace, finding: Finding) -> list[LoaderBuilt]:
        """The loaders that were built where the finding says."""
        return [event for step in finding.trail[:1] for event in first_per_site(at(trace, step.site, LoaderBuilt))]
