"""TDR713: evaluation data that is preprocessed differently from training data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Step, same_place
from torch_doctor.trace import BatchMeasured
from torch_doctor_rules.data.transforms_differ.channels import both, told, turned
from torch_doctor_rules.data.transforms_differ.preparation import (
    AS_TRAINED,
    CONVERTED,
    UNSEEN,
    Unlike,
    in_words,
    unlike,
)
from torch_doctor_rules.data.transforms_differ.scaling import ALIKE, NEAR, differs, statistics
from torch_doctor_rules.data.transforms_differ.scripts import compared, inputs
from torch_doctor_rules.judging.causes import place
from torch_doctor_rules.judging.comparison import Comparison, pairs
from torch_doctor_rules.judging.evidence import fact
from torch_doctor_rules.judging.loaders import Loaders
from torch_doctor_rules.judging.sites import first_per_site

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from torch_doctor.trace import ModelInput, Trace


class TransformsDiffer(Comparison):
    """Evaluation data is preprocessed differently from training data, so the score is too low.

    ## Why is this bad?
    The model gets inputs that it was not trained on, so its score is far below what it can reach, and may be no better than
    guessing. Random flips and crops are for training only, but the following has to be the same in both:

    - **Normalization.** For example, the model is trained on values with mean 0 and standard deviation 1, and evaluated on
      values between 0 and 1. A dataset whose parameter `transform` is `None` by default is easily created without it, and
      a function that predicts for one image often scales it by hand, in another way than the transform of the dataset.
    - **Channel order.** OpenCV reads blue first; Pillow and most other libraries read red first.
    - **Fitted transforms.** A scaler or a vectorizer is fitted on the training samples and then transforms the others. If it
      is fitted again, or transforms the training samples alone, the same feature gets another meaning. The same holds for
      means, standard deviations and ranges that the script computes itself.
    - **Tokenizer.** Another tokenizer assigns other numbers to the same words, and so does a vocabulary that the script builds
      again from the test samples.

    Scripts of one project are compared, too: if `predict.py` loads the weights that `train.py` saves, it has to prepare its
    inputs as `train.py` does.

    ## Example
    ```python
    from torchvision import datasets, transforms

    normalized = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.1307,), (0.3081,))])
    train_set = datasets.MNIST("digits", train=True, transform=normalized)
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
    ```diff
     train_set = datasets.MNIST("digits", train=True, transform=normalized)
    -test_set = datasets.MNIST("digits", train=False, transform=transforms.ToTensor())
    +test_set = datasets.MNIST("digits", train=False, transform=normalized)
     model = nn.Sequential(nn.Flatten(), nn.Linear(784, 10))
    ```

    ## How the probe confirms it
    The mean or the standard deviation of the first batches of both loaders differs. If both agree, the finding is refuted.
    For the channel order, the probe compares the channel means: those of evaluation equal those of training in reverse order.
    Images of a single color, images that do not come from a loader, and batches that a loop scales leave the finding
    undecided. A run does not show which samples something was fitted on, which tokenizer produced the tokens, or
    what another script does.

    ## When it is not reported
    Normalization:

    - Random transforms, sizes and crops may differ. A higher resolution in evaluation can be intended.
    - If a transform is unknown, or applied only sometimes. Functions and classes of the project, and arithmetic in
      `__getitem__` or in the loops, are followed for images that OpenCV, Pillow or a dataset of torchvision reads.
    - If a dataset that is created without a transform computes something else in its place, or depends on other settings.
    - If the datasets are of different classes, or convert images to tensors in different ways.
    - If the batch is changed in an unknown way before the model gets it, or if the evaluated model is another one.
    - If the model is also evaluated on images that are scaled as in training, and the others are scaled by numbers of their
      own: for example, they are darker on purpose. Images that are not normalized at all are reported even then.
    - If the numbers are nearly the same.
    - Pixels from 0 to 255 that are never scaled are reported by TDR711.

    Channel order:

    - It is known for images that OpenCV, Pillow, imageio or scikit-image reads, and for the results of slices, conversions
      and known transforms. It is not reported if anything else changes the images, or if both orders occur in training.

    Fitted transforms:

    - If the fit is in a loop, where it may be meant for one fold or one recording.
    - For transforms that encode classes.
    - For statistics of a single sample, window or recording, and for those of samples that are not read from a file or
      split. Without `axis` or `dim`, arrays may be images with the same range: then only tables are reported.
    - If the model is trained on samples of both fits.
    - If only the training samples are transformed: unless `train_test_split` returned both, and the others are given to the
      model as tensors or in a `TensorDataset`, unchanged.
    - If both are fitted on all samples of a single file that the same function reads twice in the same way.

    Tokenizers:

    - If they are not loaded under a well-known name, or have the same vocabulary.
    - For a vocabulary of the script: if it is unknown which files the words come from, or whether it is built. Words that are
      sorted first are not reported: two parts may have the same ones.

    Two scripts:

    - Only the scale of images, their channel order and tokenizers are compared.
    - If the script that predicts loads a file that no script is known to save. If the file name is unknown, all scripts that
      train a model of this class have to prepare their inputs differently, and the class has to be one of the project.
    - If any script that may have trained the weights prepares an input in an unknown way, or as the other script does.
    - If only one of the scripts is scanned.

    ## References
    - https://docs.pytorch.org/vision/stable/transforms.html
    - https://docs.pytorch.org/tutorials/beginner/transfer_learning_tutorial.html
    - https://docs.pytorch.org/vision/stable/generated/torchvision.io.decode_image.html
    - https://scikit-learn.org/stable/common_pitfalls.html#inconsistent-preprocessing
    """

    code = "TDR713"
    name = "transforms-differ"
    level = Level.ERROR
    witness = "SP"
    only_confirms = True

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Yield a finding for every evaluation dataset that is preprocessed differently from training."""
        if trace.observed:
            yield from self._measured(trace)
        else:
            yield from super().check(trace)

    def compared(self, trace: Trace) -> Iterator[tuple[int, Finding]]:
        """Yield a finding for each input that is preprocessed differently, with its loader."""
        for found in unlike(trace, trace.view(Loaders)):
            yield found.theirs.loader, self._of_inputs(found)

    def _measured(self, trace: Trace) -> Iterator[Finding]:
        for evaluated, _, trained, _ in pairs(trace):
            theirs, ours = statistics(trace, evaluated), statistics(trace, trained)
            if theirs and ours and differs(theirs, ours):
                yield self.finding(evaluated.site, "its values are scaled differently from training", help=ALIKE)
            if turned(trace, evaluated, trained) is True:
                yield self.finding(evaluated.site, "its channels are in reverse order", help=CONVERTED)

    def noted(self, trace: Trace) -> Iterable[ModelInput]:
        """Return the inputs of models that the script trains, or only loads."""
        return dict.fromkeys(inputs(trace))

    def between(self, noted: Sequence[ModelInput]) -> Iterator[Finding]:
        """Yield a finding for each script that predicts on inputs that are prepared otherwise than for training."""
        return first_per_site(self._of_inputs(found, AS_TRAINED) for found in compared(noted))

    def _of_inputs(self, found: Unlike, remedy: str = "") -> Finding:
        words, theirs, ours = in_words(found), found.theirs, found.ours
        return self.finding(
            found.site,
            words.text,
            help=remedy or words.remedy,
            trail=[
                Step((found.evaluated or theirs).site, "this is used for evaluation"),
                Step((found.trained or ours).site, "this is used for training"),
                Step(ours.prepared_at, words.trained),
                Step(theirs.prepared_at, words.evaluated),
            ],
            cause=place(found.site),
        )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Return whether the batches of both loaders were measured and agree."""
        theirs, ours = both(trace, finding)
        if finding.help in UNSEEN:
            return UNSEEN[finding.help]
        if theirs is None or ours is None:
            return False
        if finding.help == CONVERTED:
            return turned(trace, theirs, ours) is False or "the channel means do not show which channel comes first"
        numbers, its = statistics(trace, theirs), statistics(trace, ours)
        if numbers is None or its is None:
            return False
        return True if not differs(numbers, its, NEAR) else "the first batches do not show whether the data differs"

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """Yield the mean and the standard deviation of both, or their channel means."""
        theirs, ours = both(trace, finding)
        if theirs is None or ours is None or finding.help in UNSEEN:
            return
        measured = next(iter(trace.of(BatchMeasured)))
        if finding.help == CONVERTED:
            if text := told(trace, theirs, ours):
                yield fact(text, 3, "channels", measured)
            return
        numbers, its = statistics(trace, theirs), statistics(trace, ours)
        if numbers is not None and its is not None:
            text = "mean {:.3g} and standard deviation {:.3g} in training, {:.3g} and {:.3g} in evaluation"
            yield fact(text.format(*its, *numbers), abs(numbers[0] - its[0]), "", measured)

    def same(self, finding: Finding, seen: Finding) -> bool:
        """Whether the loader that was measured is the one that the finding is about, and it differs in the same."""
        return finding.help == seen.help and any(same_place(step.site, seen.site) for step in finding.trail[:1])
