"""TDR701: the training loader does not shuffle."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Figure, Keyword
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule, Step
from torch_doctor.trace import BatchTaken, Forward, LoaderBuilt, ModuleBuilt, Reordered
from torch_doctor_rules.judging.evidence import at, count, fact
from torch_doctor_rules.judging.loaders import Loaders
from torch_doctor_rules.judging.testing import in_a_test
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Backward, Trace


class TrainLoaderNotShuffled(Rule):
    """The training loader does not shuffle: it returns samples in the order in which they are stored.

    ## Why is this bad?
    Every epoch sees the same batches in the same order. Stored samples are often sorted by class, by day or by file, so a
    batch may contain a single class. Gradients of such batches are biased towards the most recent samples, batch norm
    learns the wrong statistics, and the model ends up worse than necessary.

    ## Example
    ```python
    inputs = torch.arange(96.0).view(96, 1) / 96
    loader = DataLoader(TensorDataset(inputs, inputs.sin()), batch_size=16)
    model = nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(2):
        for x, y in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
    ```

    ## Use instead
    ```diff
     inputs = torch.arange(96.0).view(96, 1) / 96
    -loader = DataLoader(TensorDataset(inputs, inputs.sin()), batch_size=16)
    +loader = DataLoader(TensorDataset(inputs, inputs.sin()), batch_size=16, shuffle=True)
     model = nn.Linear(1, 1)
    ```

    ## How the probe confirms it
    Gradients are computed from the loader's batches, and the loader uses a `SequentialSampler` over a map-style dataset.

    ## When it is not reported
    - With a sampler or an iterable dataset, or if `shuffle` is a variable.
    - If the samples are, or may be, in random order already. A dataset from `load_dataset` is in stored order until it
      is shuffled, sorted or split.
    - If the dataset has a single sample, or a single batch contains all samples.
    - If the batches are taken together with those of another unshuffled loader, or of what may be one: samples at the same
      position may belong together.
    - If code that is not analyzed creates the samples, or decides whether the loader is used for training.
    - If `shuffle=False` is explicit and the model is or may be recurrent: consecutive samples may form a sequence.
    - In tests.

    ## References
    - https://docs.pytorch.org/docs/stable/data.html#data-loading-order-and-sampler
    - https://docs.pytorch.org/tutorials/beginner/basics/data_tutorial.html
    """

    code = "TDR701"
    name = "train-loader-not-shuffled"
    level = Level.WARNING
    witness = "SP"
    voided_by = frozenset({"inside"})
    shown_by = "training step on a batch of this loader"
    fix = Fix.UNSAFE
    fix_changes = frozenset({Figure.BATCHES, Figure.UPDATES})
    only_confirms = True  # a run shows the order on this machine alone

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Yield a finding for every training loader that keeps the stored order."""
        loaders = trace.view(Loaders)
        recurrent = any(event.recurrent for event in trace.of(ModuleBuilt))
        for loader, backward in loaders.training():
            series = recurrent or _may_be_recurrent(trace, backward)
            meant = (series and loader.explicit) or in_a_test(loader) or _chosen(loaders, loader)
            if not loaders.surely_trains(loader.loader):
                continue
            if _keeps_order(loaders, loader) and not meant and not _paired(loaders, loader):
                yield self.finding(
                    loader.site,
                    message(
                        "`{name}` is not shuffled: every training epoch repeats the same batches in the same order",
                        name=loaders.name_where_built(loader),
                    ),
                    help="pass `shuffle=True`",
                    trail=[Step(backward.site, "the model is trained on its batches here")],
                    edits=[Keyword(loader.site, "shuffle", "True", 2)],
                )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Return whether the loader was used for training in another order."""
        loaders = trace.view(Loaders)
        built = at(trace, finding.site, LoaderBuilt)
        trained = [event for event in built if loaders.trains(event.loader)]
        if any(event.shuffle or event.sampled for event in trained):
            return True
        return "the loader does not shuffle, but its samples may have been shuffled before" if trained else False

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """Yield how many batches were used for training, and in which order."""
        loaders = trace.view(Loaders)
        for loader in at(trace, finding.site, LoaderBuilt):
            batches = sum(event.loader == loader.loader for event in trace.of(BatchTaken))
            if loaders.trains(loader.loader):
                order = "in random order" if loader.shuffle or loader.sampled else "in stored order"
                yield fact(f"{count(batches, 'batch', 'batches')} taken {order}", batches, "batches", loader)
                return


def _may_be_recurrent(trace: Trace, backward: Backward) -> bool:
    """Return whether parts of the trained model are unknown."""
    forwards = (event for event in trace.at(*backward.forwards) if isinstance(event, Forward))
    return not backward.whole or any(event.sensitive is None or event.unseen for event in forwards)


def _keeps_order(loaders: Loaders, loader: LoaderBuilt) -> bool:
    """Whether the loader surely gives the rows of its dataset as they were stored, in many batches."""
    dataset = loaders.dataset(loader)
    return (
        loader.shuffle is False
        and loader.sampled is False
        and loader.full is not True
        and loader.rows != 1
        and dataset is not None
        and dataset.iterable is False
        and (dataset.shuffled is False or (dataset.shuffled is None and not _may_be_shuffled(loaders, loader)))
    )


def _may_be_shuffled(loaders: Loaders, loader: LoaderBuilt) -> bool:
    """Return whether the samples may have been shuffled before."""
    return loader.unseen or bool(loaders.trace.of(Reordered))


def _chosen(loaders: Loaders, loader: LoaderBuilt) -> bool:
    """Whether a test in the script decides between it and a loader that takes the same rows in random order."""
    others = (other for other in loaders.built.values() if not loaders.trace.together(other, loader))
    return any(each.dataset == loader.dataset and True in (each.shuffle, each.sampled) for each in others)


def _paired(loaders: Loaders, loader: LoaderBuilt) -> bool:
    """Whether its batches are taken side by side with those of another loader that keeps its order too.

    A row of one may belong to the row of the other at the same place: then only both together can be shuffled.
    """
    same = {id(event.scope) for event in loaders.taken.get(loader.loader, ()) if any(event.scope.iterations())}
    beside = {
        number
        for number, events in loaders.taken.items()
        if number != loader.loader and any(id(event.scope) in same for event in events)
    }
    return 0 in loader.beside or any(
        other.shuffle is False and other.sampled is False
        for number in beside | loader.beside
        if (other := loaders.built.get(number)) is not None
    )
