"""TDR713: pictures that are prepared otherwise for the evaluation than for training."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule, Step, same_place
from torch_doctor.trace import BatchMeasured
from torch_doctor_rules.judging.causes import place
from torch_doctor_rules.judging.evidence import fact
from torch_doctor_rules.judging.loaders import Loaders
from torch_doctor_rules.judging.picture_channels import both, told, turned
from torch_doctor_rules.judging.picture_scaling import NEAR, Pair, differs, pairs, statistics, unlike_words
from torch_doctor_rules.judging.preparation import Unlike, unlike
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Trace

_TURNED = "`{name}` is evaluated on pictures with {theirs} first, and trained on pictures with {ours} first"
_ALIKE = "give both datasets the same `Normalize`; only random transforms belong to training alone"
_CONVERTED = "read the pictures of both alike, or turn round the channels of one"


class TransformsDiffer(Rule):
    """The pictures of the evaluation are prepared otherwise than those in training: scaled, or in another order of channels.

    ## Why is this bad?
    A model that is trained on numbers around 0 with a deviation of 1 gets numbers between 0 and 1 in the evaluation, or the
    other way round. Its first layer has never seen such inputs: the score is far below what the model can do, and may be that
    of guessing. Random flips and crops belong to training alone; what scales the numbers belongs to both. So does the order
    of the channels: OpenCV reads blue first, Pillow and most others read red first, and a model that gets the one for the
    other sees blue leaves.

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
    The mean or the deviation of the first batches of both loaders differs. Where both are alike, it is refuted. So for the
    order of the channels: their means in the evaluation are those in training, turned round, or they are not. Pictures of
    one colour, and those that no loader gives, leave it undecided.

    ## When it stays silent
    For random transforms, sizes and crops, which may differ; where one of the transforms is not known (a function, one of the
    project's classes, one that is applied now and then), the datasets are of different classes, or the pictures become tensors
    in other ways; where the batch is changed before the model gets it; where the model that is evaluated is another one; and for
    numbers that are nearly the same. The order of the channels is known of pictures that OpenCV, Pillow, imageio or
    scikit-image reads, and of what slices, conversions and known transforms make of them; where something else changes
    them, or the training has both orders, it is silent.

    ## References
    - https://docs.pytorch.org/vision/stable/transforms.html
    - https://docs.pytorch.org/tutorials/beginner/transfer_learning_tutorial.html
    - https://docs.pytorch.org/vision/stable/generated/torchvision.io.decode_image.html
    """

    code = "TDR713"
    name = "transforms-differ"
    level = Level.ERROR
    witness = "SP"
    only_confirms = True

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every dataset that is evaluated by a model whose training prepares its inputs otherwise."""
        if trace.observed:
            yield from self._measured(trace)
            return
        loaders = trace.view(Loaders)
        yield from first_per_site(map(self._of_scaling, self._scaled(loaders)))
        yield from first_per_site(self._of_channels(each) for each in unlike(trace, loaders))

    def _measured(self, trace: Trace) -> Iterator[Finding]:
        loaders = trace.view(Loaders)
        for evaluated, _ in loaders.never_training():
            for trained, _ in loaders.training():
                theirs, ours = statistics(trace, evaluated), statistics(trace, trained)
                if theirs and ours and differs(theirs, ours):
                    yield self.finding(evaluated.site, "its numbers are others than in training", help=_ALIKE)
                if turned(trace, evaluated, trained) is True:
                    yield self.finding(evaluated.site, "its channels are turned round", help=_CONVERTED)

    def _scaled(self, loaders: Loaders) -> Iterator[tuple[str, Pair]]:
        for pair in pairs(loaders.trace, loaders):
            text = unlike_words(pair)
            if text:
                yield message(text, name=loaders.name(pair.evaluated)), pair

    def _of_scaling(self, found: tuple[str, Pair]) -> Finding:
        text, pair = found
        sites = (pair.ours.normalised_at, pair.theirs.normalised_at)
        return self.finding(
            pair.built.site,
            text,
            help=_ALIKE,
            trail=[
                Step(pair.evaluated.site, "this loader is evaluated"),
                Step(pair.trained.site, "this one is trained on"),
                *(Step(site, "pictures are normalised here") for site in dict.fromkeys(sites) if site is not None),
            ],
            cause=place(pair.built.site),
        )

    def _of_channels(self, found: Unlike) -> Finding:
        first = {"RGB": "red", "BGR": "blue"}
        return self.finding(
            found.site,
            message(_TURNED, name=found.forward.name, theirs=first[found.theirs.how], ours=first[found.ours.how]),
            help=_CONVERTED,
            trail=[
                Step((found.evaluated or found.theirs).site, "this is evaluated"),
                Step((found.trained or found.ours).site, "this is trained on"),
                Step(found.ours.prepared_at, "pictures to train on are read here"),
                Step(found.theirs.prepared_at, "those to evaluate here"),
            ],
            cause=place(found.site),
        )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether the batches of both loaders were measured, and are alike."""
        theirs, ours = both(trace, finding)
        if theirs is None or ours is None:
            return False
        if finding.help == _CONVERTED:
            return turned(trace, theirs, ours) is False or "the channels do not tell which comes first"
        numbers, its = statistics(trace, theirs), statistics(trace, ours)
        if numbers is None or its is None:
            return False
        return True if not differs(numbers, its, NEAR) else "the first batches do not tell whether they differ"

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """The mean and the deviation of both, or the means of their channels."""
        theirs, ours = both(trace, finding)
        if theirs is None or ours is None:
            return
        measured = next(iter(trace.of(BatchMeasured)))
        if finding.help == _CONVERTED:
            if text := told(trace, theirs, ours):
                yield fact(text, 3, "channels", measured)
            return
        numbers, its = statistics(trace, theirs), statistics(trace, ours)
        if numbers is not None and its is not None:
            text = "mean {:.3g} and deviation {:.3g} in training, {:.3g} and {:.3g} in the evaluation"
            yield fact(text.format(*its, *numbers), abs(numbers[0] - its[0]), "", measured)

    def same(self, finding: Finding, seen: Finding) -> bool:
        """Whether the loader that was measured is the one that the finding is about, and it differs in the same."""
        return finding.help == seen.help and any(same_place(step.site, seen.site) for step in finding.trail[:1])
