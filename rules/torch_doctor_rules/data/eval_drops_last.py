"""TDR712: evaluation drops the last samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Figure, Keyword
from torch_doctor.rule import Evidence, Finding, Fix, Level, Step
from torch_doctor.trace import BatchTaken, LoaderBuilt, claims
from torch_doctor_rules.judging.comparison import Comparison
from torch_doctor_rules.judging.evidence import at, count, fact, number
from torch_doctor_rules.judging.loaders import Loaders
from torch_doctor_rules.judging.scores import is_scored
from torch_doctor_rules.judging.subjects import EVALUATION
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Forward, Trace


class EvalDropsLast(Comparison):
    """The evaluation loader drops the last, incomplete batch, so its samples are never scored.

    ## Why is this bad?
    The score covers only the remaining samples and depends on the batch size: with 250 samples and batches of 100, a fifth
    of the data is ignored. If the loader does not shuffle, it is always the same samples that are ignored.

    ## Example
    ```python
    for x, y in DataLoader(TensorDataset(torch.randn(96, 4), torch.randn(96, 1)), batch_size=16, shuffle=True):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
    test_loader = DataLoader(TensorDataset(torch.randn(40, 4), torch.randn(40, 1)), batch_size=16, drop_last=True)
    with torch.no_grad():
        for x, y in test_loader:
            print(nn.functional.mse_loss(model(x), y).item())
    ```

    ## Use instead
    ```diff
         optimizer.step()
    -test_loader = DataLoader(TensorDataset(torch.randn(40, 4), torch.randn(40, 1)), batch_size=16, drop_last=True)
    +test_loader = DataLoader(TensorDataset(torch.randn(40, 4), torch.randn(40, 1)), batch_size=16)
     with torch.no_grad():
    ```

    ## How the probe confirms it
    The loader is created with `drop_last=True`, and gradients are never computed from its batches.

    ## When it is not reported
    - If the loader is also used for training.
    - For batches of one sample, unless that is only the default of an option, and for batch sizes that come from code that
      is not analyzed.
    - If the samples are known to fill all batches.
    - If `drop_last`, or the setting `dataloader_drop_last` of a transformers `Trainer`, is a variable.
    - For datasets that draw random samples regardless of the index.
    - For shuffled loaders whose batches are not scored in the same pass, such as training samples that are encoded for
      another model.
    - If a sample consists of several random views of one. A contrastive loss compares them with the other samples of a batch,
      so it depends on the batch size.
    - If it is unknown what happens to the batches.

    ## References
    - https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.DataLoader
    """

    code = "TDR712"
    name = "eval-drops-last"
    level = Level.WARNING
    witness = "SP"
    shown_by = "batch of this loader that is only evaluated"
    needs = frozenset({"rows"})
    voided_by = frozenset({"shapes"})
    subject = EVALUATION
    fix = Fix.SAFE
    fix_changes = frozenset({Figure.BATCHES})

    def compared(self, trace: Trace) -> Iterator[tuple[int, Finding]]:
        """Yield a finding, with its loader, for every loader that is only evaluated and drops its last batch."""
        loaders = trace.view(Loaders)
        only_evaluated = {loader.loader for loader, _ in loaders.never_training()}
        for loader, forward in loaders.never_training():
            if (
                loader.drop_last is True
                and (loader.batch != 1 or loader.chosen)
                and not (loader.batch is None and loader.unseen)
                and not (loaders.drawn(loader) or _compares_views(loaders, loader) or _fits(loader))
                and (loader.shuffle is not True or is_scored(trace, forward))
            ):
                yield loader.loader, self._report(trace, loader, forward, only_evaluated)

    def _report(self, trace: Trace, loader: LoaderBuilt, forward: Forward, only_evaluated: set[int]) -> Finding:
        text = "`{name}` drops the last incomplete batch: its samples are never evaluated"
        return self.finding(
            loader.site,
            message(text, name=trace.view(Loaders).name_where_built(loader)),
            help="use `drop_last` for training only: evaluation can handle a smaller batch",
            trail=[Step(forward.site, "its batches are evaluated here: no `backward()` follows")],
            edits=_edits(trace, loader, only_evaluated),
        )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Return whether the loader was evaluated with its last batch."""
        loaders = trace.view(Loaders)
        evaluated = [event for event in at(trace, finding.site, LoaderBuilt) if loaders.evaluates(event.loader)]
        if any(event.drop_last for event in evaluated):
            if all(map(_fits, evaluated)):
                made_up = trace.run.voids("values") if trace.run is not None else None
                return made_up is None or "the synthetic data happens to fill all batches"
            if all(event.batch == 1 for event in evaluated):
                return "its batches contain one sample in this run, so none is dropped"
            if any(_compares_views(loaders, event) for event in evaluated):
                return "its samples may be views of one another, which a loss compares within a batch"
            return "it drops the last batch, but is also used for training"
        return bool(evaluated)

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """Yield how many samples or batches were evaluated, and whether the last batch was dropped."""
        loaders = trace.view(Loaders)
        for loader in at(trace, finding.site, LoaderBuilt):
            batches = sum(event.loader == loader.loader for event in trace.of(BatchTaken))
            if loaders.evaluates(loader.loader) and loader.rows and loader.batch and loader.drop_last:
                left = loader.rows % loader.batch
                text = f"{count(loader.rows, 'sample')} in batches of {loader.batch}: {left} of them are dropped"
                yield fact(text, left, "rows", loader)
                return
            if loaders.evaluates(loader.loader):
                fate = "dropped" if loader.drop_last else "kept"
                yield fact(
                    f"{count(batches, 'batch', 'batches')} evaluated, an incomplete last one {fate}",
                    batches,
                    "",
                    loader,
                )
                return


def _compares_views(loaders: Loaders, loader: LoaderBuilt) -> bool:
    """Return whether a sample is several random views of one, which a model compares with those of the other samples."""
    datasets = loaders.whole(loaders.dataset(loader))
    return any(each.views or number(loaders.trace, claims.ROWS_HAVE_VIEWS, each) for each in datasets)


def _fits(loader: LoaderBuilt) -> bool:
    """Return whether the samples are known to fill all batches."""
    several = loader.batch is not None and loader.batch > 1
    return several and bool(loader.rows) and loader.rows % loader.batch == 0  # type: ignore[operator]


POSITION = 8
"""Where `drop_last` stands among the arguments of a loader."""


def _edits(trace: Trace, loader: LoaderBuilt, only_evaluated: set[int]) -> list[Keyword]:
    """The setting left out; where the place builds loaders for training too, as what tells whether it shuffles."""
    built = [other for other in trace.of(LoaderBuilt) if other.site == loader.site]
    if loader.scores:
        return []  # a setting of the framework
    if all(other.loader in only_evaluated for other in built):
        return [Keyword(loader.site, "drop_last", position=POSITION, otherwise="False")]
    told = all(other.shuffle is (other.loader not in only_evaluated) and other.explicit for other in built)
    return [Keyword(loader.site, "drop_last", position=POSITION, like="shuffle")] if told else []
