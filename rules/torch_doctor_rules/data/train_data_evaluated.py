"""TDR708: the model is evaluated on the rows it was trained on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule, Step, same_place
from torch_doctor.trace import BatchTaken, DatasetBuilt, LoaderBuilt
from torch_doctor_rules.judging.evidence import at, count, fact
from torch_doctor_rules.judging.loaders import Loaders
from torch_doctor_rules.judging.overlaps import Overlaps
from torch_doctor_rules.judging.redrawn import Redraw, Redrawn
from torch_doctor_rules.judging.subjects import EVALUATION
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Backward, Forward, Site, Trace

REDRAWN = "split once, before the loop"
KEPT_OUT = "evaluate on rows that are kept out of training"
_DRAWN = "`{name}` has other rows in each epoch: it evaluates rows that epochs before trained on"
_SHARED = "`{name}`, which the model trains on, is evaluated: the score tells nothing of new data"
_SAME = "`{name}` evaluates rows that are trained on: the score tells nothing of new data"
_EVALUATES = "no `backward()` follows this pass: it evaluates"


class TrainDataEvaluated(Rule):
    """Training and validation read the same rows: the score is that of data the model has seen.

    ## Why is this bad?
    The validation score is there to tell how the model does on rows it was not trained on. On the training rows it only
    tells how well these are remembered: overfitting stays invisible, and early stopping and the choice of the best
    checkpoint follow the wrong number.

    ## Example
    ```python
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset, random_split

    torch.manual_seed(0)
    data = TensorDataset(torch.randn(96, 4), torch.randn(96, 1))
    train_set, val_set = random_split(data, [64, 32])
    train_loader = DataLoader(data, batch_size=16, shuffle=True)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in train_loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
    with torch.no_grad():
        for x, y in DataLoader(val_set, batch_size=16):
            print(nn.functional.mse_loss(model(x), y).item())
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset, random_split

    torch.manual_seed(0)
    data = TensorDataset(torch.randn(96, 4), torch.randn(96, 1))
    train_set, val_set = random_split(data, [64, 32])
    train_loader = DataLoader(train_set, batch_size=16, shuffle=True)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in train_loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
    with torch.no_grad():
        for x, y in DataLoader(val_set, batch_size=16):
            print(nn.functional.mse_loss(model(x), y).item())
    ```

    ## How the probe confirms it
    Batches whose gradients are taken and batches that only evaluate come from the same dataset object, or from one that is
    part of the other, or from two of a library that were built alike. Where a split is drawn in every epoch: rows that were
    trained on in one are evaluated in a later one.

    ## When it is not reported
    Where other rows are evaluated too (the score on training data is then shown beside), with samplers, with slices and subsets
    whose bounds are not known or reach back over another by the length of a window, for data sets that a comprehension or a
    `map` makes of who knows how many parts, for a data set that draws each row whatever the index is, for splits that are drawn
    anew with a generator, a seed or a model of their own, and where the evaluation computes no loss as training does, or, of a
    model that computes its loss itself, adds none up. Of data sets of a hub the splits, and what `select`, `shuffle` and the
    like make of them, are known.

    ## References
    - https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.random_split
    """

    code = "TDR708"
    name = "train-data-evaluated"
    level = Level.ERROR
    witness = "SP"
    shown_by = "evaluation of its batches"
    voided_by = frozenset({"shapes"})
    subject = EVALUATION
    needs_end = True

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Where all that is evaluated are rows that are trained on."""
        overlaps = Overlaps(trace)
        for loader, forward, site, other in overlaps.found():
            yield self._report(overlaps.loaders, loader, forward, site, other)
        for loader, backward, forward, idle in overlaps.shared():
            yield self._shared(overlaps.loaders, loader, backward, forward, idle)
        for found in trace.view(Redrawn).found():
            yield self._redrawn(overlaps.loaders, found)

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether some loader evaluated."""
        loaders = trace.view(Loaders)
        sites = [loader.site for loader, _ in loaders.evaluating()]
        evaluated = any(same_place(step.site, site) for step in finding.trail for site in sites)
        return "which rows its dataset reads is not known" if evaluated else False

    def speaks_alone(self, trace: Trace, finding: Finding) -> bool:
        """Whether the same rows are no window that reaches back over a bound, and no score of training rows alone.

        Of a split that is drawn anew, the source has to say that nobody begins with other weights each time.
        """
        if finding.help == REDRAWN:
            return False
        trained = {loader.dataset for step in finding.trail[:1] for loader in at(trace, step.site, LoaderBuilt)}
        return not any(
            trained & set(built.shares) - set(built.mostly) for built in at(trace, finding.site, DatasetBuilt)
        )

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How many batches of the same rows were trained on and evaluated."""
        loaders = trace.view(Loaders)
        for forward in loaders.evaluations():
            rows = [each for each in finding.trail if same_place(each.site, forward.site)]
            if rows:
                taken = sum(event.loader == forward.inputs.loader for event in trace.of(BatchTaken))
                yield fact(
                    f"{count(taken, 'batch', 'batches')} of rows that are trained on too", taken, "batches", forward
                )
                return

    def _redrawn(self, loaders: Loaders, found: Redraw) -> Finding:
        return self.finding(
            found.site,
            message(_DRAWN, name=loaders.name(found.evaluated)),
            help=REDRAWN,
            trail=[
                Step(found.trained.site, "the rows of an epoch before are trained on"),
                Step(found.drawn, "the rows are drawn anew in every pass of the loop"),
                Step(found.evaluated.site, "and read for the evaluation"),
                Step(found.forward.site, _EVALUATES),
            ],
        )

    def _shared(
        self, loaders: Loaders, loader: LoaderBuilt, backward: Backward, forward: Forward, idle: LoaderBuilt
    ) -> Finding:
        return self.finding(
            loaders.used(loader, forward),
            message(_SHARED, name=loaders.name(loader)),
            help=KEPT_OUT,
            trail=[
                Step(backward.site, "its batches are trained on here"),
                Step(idle.site, "this loader is never used"),
                Step(forward.site, _EVALUATES),
            ],
        )

    def _report(
        self, loaders: Loaders, loader: LoaderBuilt, forward: Forward, site: Site, other: LoaderBuilt
    ) -> Finding:
        return self.finding(
            site,
            message(_SAME, name=loaders.name_where_built(loader) if site == loader.site else loaders.name(loader)),
            help=KEPT_OUT,
            trail=[
                Step(other.site, "these rows are trained on"),
                Step(loader.site, "and read for the evaluation"),
                Step(forward.site, _EVALUATES),
            ],
        )
