"""TDR713: pictures that are scaled otherwise for the evaluation than for training."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule, Step, same_place
from torch_doctor.trace import BatchMeasured
from torch_doctor_rules.judging.causes import place
from torch_doctor_rules.judging.evidence import fact
from torch_doctor_rules.judging.loaders import Loaders
from torch_doctor_rules.judging.picture_scaling import NEAR, Pair, differs, pairs, statistics
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Site, Trace

_MISSING = "`{name}` evaluates pictures that are not normalised, as those are that it is trained on"
_ONLY = "`{name}` evaluates normalised pictures, and those that it is trained on are not"
_OTHERS = "`{name}` evaluates pictures that are normalised by other numbers than in training"


class TransformsDiffer(Rule):
    """The pictures of the evaluation are scaled otherwise than those in training: normalised in one only, or by other numbers.

    ## Why is this bad?
    A model that is trained on numbers around 0 with a deviation of 1 gets numbers between 0 and 1 in the evaluation, or the
    other way round. Its first layer has never seen such inputs: the score is far below what the model can do, and may be that
    of guessing. Random flips and crops belong to training alone; what scales the numbers belongs to both.

    ## Example
    ```python
    import torch
    from torch import nn
    from torch.utils.data import DataLoader
    from torchvision import datasets, transforms

    normalised = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.1307,), (0.3081,))])
    train_set = datasets.MNIST("digits", train=True, transform=normalised)
    test_set = datasets.MNIST("digits", train=False, transform=transforms.ToTensor())
    model = nn.Sequential(nn.Flatten(), nn.Linear(784, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in DataLoader(train_set, batch_size=64, shuffle=True):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    with torch.no_grad():
        for x, y in DataLoader(test_set, batch_size=64):
            print(nn.functional.cross_entropy(model(x), y).item())
    ```

    ## Use instead
    ```python
    import os

    import torch
    from torch import nn
    from torch.utils.data import DataLoader

    if os.path.isdir("digits"):
        from torchvision import datasets, transforms
        normalised = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.1307,), (0.3081,))])
        train_set = datasets.MNIST("digits", train=True, transform=normalised)
        test_set = datasets.MNIST("digits", train=False, transform=normalised)
        model = nn.Sequential(nn.Flatten(), nn.Linear(784, 10))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for x, y in DataLoader(train_set, batch_size=64, shuffle=True):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
        with torch.no_grad():
            for x, y in DataLoader(test_set, batch_size=64):
                print(nn.functional.cross_entropy(model(x), y).item())
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
                theirs, ours = statistics(trace, evaluated), statistics(trace, trained)
                if theirs and ours and differs(theirs, ours):
                    yield self.finding(
                        evaluated.site, "its numbers are others than in training", help="scale both alike"
                    )

    def _found(self, trace: Trace) -> Iterator[Finding]:
        loaders = trace.view(Loaders)
        for pair in pairs(trace, loaders):
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
        return True if not differs(theirs, ours, NEAR) else "the first batches do not tell whether they differ"

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


def _text(pair: Pair) -> str:
    """What is wrong with a pair; "" where nothing is, or nobody knows."""
    theirs, ours = pair.theirs, pair.ours
    if theirs.dataset == ours.dataset or theirs.converted != ours.converted:
        return ""
    if (theirs.normalised_at is None) != (ours.normalised_at is None):
        return _MISSING if theirs.normalised_at is None else _ONLY
    channels = zip(theirs.mean, theirs.std, ours.mean, ours.std, strict=False)
    others = len(theirs.mean) == len(ours.mean) and any(differs((m, s), (n, t)) for m, s, n, t in channels)
    return _OTHERS if others else ""


def _both(trace: Trace, finding: Finding) -> tuple[tuple[float, float] | None, tuple[float, float] | None]:
    """The statistics of the loader that evaluates and of the one that trains, as they were seen in a run."""
    loaders = trace.view(Loaders)
    sites: list[Site] = [step.site for step in finding.trail[:2]] or [finding.site]
    theirs = next(
        filter(
            None, (statistics(trace, each) for each, _ in loaders.never_training() if same_place(sites[0], each.site))
        ),
        None,
    )
    trained = [each for each, _ in loaders.training() if len(sites) == 1 or same_place(sites[1], each.site)]
    return theirs, next(filter(None, (statistics(trace, each) for each in trained)), None)
