"""TDR713: pictures that are scaled otherwise for the evaluation than for training."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from torch_doctor.rule import Evidence, Finding, Level, Rule, Step, same_place
from torch_doctor.trace import BatchMeasured, BatchReworked, Forward, LoaderBuilt, RowsScaled
from torch_doctor_rules.judging.causes import place
from torch_doctor_rules.judging.evidence import fact
from torch_doctor_rules.judging.loaders import Loaders
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch_doctor.trace import DatasetBuilt, Site, Trace

_SHIFT, _RATIO = 0.2, 1.3
"""From where on two means, in deviations, and two deviations are others; less is a matter of taste, or of the sample."""
_NEAR = 0.25
"""The part of that up to which they are alike."""
_MISSING = "`{name}` evaluates pictures that are not normalised, as those are that it is trained on"
_ONLY = "`{name}` evaluates normalised pictures, and those that it is trained on are not"
_OTHERS = "`{name}` evaluates pictures that are normalised by other numbers than in training"


class _Pair(NamedTuple):
    """A loader that evaluates a model, one that trains it, and how both scale their pictures."""

    evaluated: LoaderBuilt
    trained: LoaderBuilt
    built: DatasetBuilt
    theirs: RowsScaled
    ours: RowsScaled


class TransformsDiffer(Rule):
    """The pictures of the evaluation are scaled otherwise than those in training: normalised in one only, or by other numbers.

    ## Why is this bad?
    A model that is trained on numbers around 0 with a deviation of 1 gets numbers between 0 and 1 in the evaluation, or the
    other way round. Its first layer has never seen such inputs: the score is far below what the model can do, and may be that
    of guessing. Random flips and crops belong to training alone; what scales the numbers belongs to both.

    ## Example
    ```python
    import os

    import torch
    from torch import nn
    from torch.utils.data import DataLoader

    def read(folder):
        from torchvision import datasets, transforms

        train = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.1307,), (0.3081,))])
        test = transforms.ToTensor()
        train_set = datasets.MNIST(folder, train=True, transform=train)
        test_set = datasets.MNIST(folder, train=False, transform=test)
        return DataLoader(train_set, batch_size=64, shuffle=True), DataLoader(test_set, batch_size=64)

    if os.path.isdir("digits"):
        train_loader, test_loader = read("digits")
        model = nn.Sequential(nn.Flatten(), nn.Linear(784, 10))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for x, y in train_loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
        correct = 0
        with torch.no_grad():
            for x, y in test_loader:
                correct += (model(x).argmax(1) == y).sum().item()
        print(correct / len(test_loader.dataset))
    ```

    ## Use instead
    ```python
    import os

    import torch
    from torch import nn
    from torch.utils.data import DataLoader

    def read(folder):
        from torchvision import datasets, transforms

        train = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.1307,), (0.3081,))])
        test = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.1307,), (0.3081,))])
        train_set = datasets.MNIST(folder, train=True, transform=train)
        test_set = datasets.MNIST(folder, train=False, transform=test)
        return DataLoader(train_set, batch_size=64, shuffle=True), DataLoader(test_set, batch_size=64)

    if os.path.isdir("digits"):
        train_loader, test_loader = read("digits")
        model = nn.Sequential(nn.Flatten(), nn.Linear(784, 10))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for x, y in train_loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
        correct = 0
        with torch.no_grad():
            for x, y in test_loader:
                correct += (model(x).argmax(1) == y).sum().item()
        print(correct / len(test_loader.dataset))
    ```

    ## How the probe confirms it
    The mean or the deviation of the first batches of both loaders differs. Where both are alike, it is refuted.

    ## When it stays silent
    For random transforms, sizes and crops, which may differ; where one of the transforms is not known (a function, one of the
    project's classes, one that is applied now and then), the datasets are of different classes, or the pictures become tensors
    in other ways; where the batch is changed before the model gets it; where the model that is evaluated is another one; and for
    numbers that are nearly the same.

    ## References
    - https://docs.pytorch.org/vision/stable/transforms.html
    - https://docs.pytorch.org/tutorials/beginner/transfer_learning_tutorial.html
    """

    code = "TDR713"
    name = "transforms-differ"
    level = Level.ERROR
    witness = "SP"
    only_confirms = True

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every dataset that is evaluated by a model whose training scales the same pictures otherwise."""
        yield from first_per_site(self._measured(trace) if trace.observed else self._found(trace))

    def _measured(self, trace: Trace) -> Iterator[Finding]:
        loaders = trace.view(Loaders)
        for evaluated, _ in loaders.never_training():
            for trained, _ in loaders.training():
                theirs, ours = _statistics(trace, evaluated), _statistics(trace, trained)
                if theirs and ours and _differs(theirs, ours):
                    yield self.finding(
                        evaluated.site, "its numbers are others than in training", help="scale both alike"
                    )

    def _found(self, trace: Trace) -> Iterator[Finding]:
        loaders = trace.view(Loaders)
        for pair in _pairs(trace, loaders):
            text = _text(pair)
            if not text:
                continue
            sites = (pair.ours.normalised_at, pair.theirs.normalised_at)
            yield self.finding(
                pair.built.site,
                message(text, name=loaders.name(pair.evaluated)),
                help="give both datasets the same `Normalize`; only random transforms belong to training alone",
                trail=[
                    Step(pair.evaluated.site, "this loader is evaluated"),
                    Step(pair.trained.site, "this one is trained on"),
                    *(Step(site, "pictures are normalised here") for site in dict.fromkeys(sites) if site is not None),
                ],
                cause=place(pair.built.site),
            )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether the batches of both loaders were measured, and are alike."""
        theirs, ours = _both(trace, finding)
        if theirs is None or ours is None:
            return False
        return True if not _differs(theirs, ours, _NEAR) else "the first batches do not tell whether they differ"

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """The mean and the deviation of both."""
        theirs, ours = _both(trace, finding)
        if theirs is not None and ours is not None:
            text = "mean {:.3g} and deviation {:.3g} in training, {:.3g} and {:.3g} in the evaluation"
            measured = next(iter(trace.of(BatchMeasured)))
            yield fact(text.format(*ours, *theirs), abs(theirs[0] - ours[0]), "", measured)

    def same(self, finding: Finding, seen: Finding) -> bool:
        """Whether the loader that was measured is the one that the finding is about."""
        return any(same_place(step.site, seen.site) for step in finding.trail[:1])


def _pairs(trace: Trace, loaders: Loaders) -> Iterator[_Pair]:
    """The loaders that evaluate and train one model with pictures of one class of datasets, as the loaders give them."""
    reworked = {event.loader for event in trace.of(BatchReworked)}
    scaled = {event.dataset: event for event in trace.of(RowsScaled)}
    for evaluated, forward in loaders.never_training():
        theirs = _scaling(loaders, evaluated, scaled)
        if theirs is None or evaluated.loader in reworked:
            continue
        for trained, backward in loaders.training():
            ours = _scaling(loaders, trained, scaled)
            fed = [event for event in trace.at(*backward.loss.forwards) if isinstance(event, Forward)]
            same = trained.loader not in reworked and any(each.module == forward.module for each in fed)
            if ours is not None and same and ours[1].source == theirs[1].source:
                yield _Pair(evaluated, trained, theirs[0], theirs[1], ours[1])


def _scaling(
    loaders: Loaders, loader: LoaderBuilt, scaled: dict[int, RowsScaled]
) -> tuple[DatasetBuilt, RowsScaled] | None:
    """How the pictures of a loader are scaled, with the dataset that does so."""
    whole = loaders.whole(loaders.dataset(loader))
    return next(((each, scaled[each.dataset]) for each in whole if each.dataset in scaled), None)


def _text(pair: _Pair) -> str:
    """What is wrong with a pair; "" where nothing is, or nobody knows."""
    theirs, ours = pair.theirs, pair.ours
    if theirs.dataset == ours.dataset or theirs.converted != ours.converted:
        return ""
    if (theirs.normalised_at is None) != (ours.normalised_at is None):
        return _MISSING if theirs.normalised_at is None else _ONLY
    channels = zip(theirs.mean, theirs.std, ours.mean, ours.std, strict=False)
    others = len(theirs.mean) == len(ours.mean) and any(_differs((m, s), (n, t)) for m, s, n, t in channels)
    return _OTHERS if others else ""


def _differs(one: tuple[float, float], other: tuple[float, float], part: float = 1.0) -> bool:
    """Whether two means, or two deviations, are clearly others, or by such a part of that."""
    (mean, std), (its, spread) = one, other
    low, high = sorted((std, spread))
    if low <= 0:
        return high > 0 or mean != its
    return abs(mean - its) > part * _SHIFT * high or high / low > 1 + part * (_RATIO - 1)


def _statistics(trace: Trace, loader: LoaderBuilt) -> tuple[float, float] | None:
    """The mean and the deviation of the batches of a loader that were measured."""
    found = [event for event in trace.of(BatchMeasured) if event.loader == loader.loader]
    return (_mean([each.mean for each in found]), _mean([each.std for each in found])) if found else None


def _mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers)


def _both(trace: Trace, finding: Finding) -> tuple[tuple[float, float] | None, tuple[float, float] | None]:
    """The statistics of the loader that evaluates and of the one that trains, as they were seen in a run."""
    loaders = trace.view(Loaders)
    sites: list[Site] = [step.site for step in finding.trail[:2]] or [finding.site]
    theirs = next(
        filter(
            None, (_statistics(trace, each) for each, _ in loaders.never_training() if same_place(sites[0], each.site))
        ),
        None,
    )
    trained = [each for each, _ in loaders.training() if len(sites) == 1 or same_place(sites[1], each.site)]
    return theirs, next(filter(None, (_statistics(trace, each) for each in trained)), None)
