"""TDR716: images in BGR order reach statistics or weights that were made for RGB."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule, Step
from torch_doctor.trace import CHANNELS, Forward, InputPrepared, Loaded, claims
from torch_doctor_rules.judging.evidence import count, counted, fact
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Site, Trace

FIRST = {"RGB": "red", "BGR": "blue"}
UNSEEN = "the values of an image do not show which channel comes first"
_KEPT = "in {}, changing one channel at the read changes that channel of the model's input, and no other"
_STATISTICS = "images have {theirs} first, but they are normalized by statistics with {ours} first"
_WEIGHTS = "images have {theirs} first, but `{name}` was pretrained on images with {ours} first"
_CONVERT = "reverse the channels of the images after reading them, or use statistics in their order"


class ChannelOrder(Rule):
    """Images in BGR order are normalized by statistics for RGB, or reach a model that was pretrained on RGB.

    ## Why is this bad?
    OpenCV reads images with blue first; Pillow, torchvision and the statistics and weights of almost all pretrained models
    have red first. The model then gets blue where it learned red. Nothing fails: the features are only worse, and so is
    the score.

    ## Example
    ```python
    import cv2
    from torchvision import transforms
    from torchvision.models import resnet18

    prepare = transforms.Compose(
        [transforms.ToTensor(), transforms.Resize((224, 224)), transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])]
    )
    model = resnet18(weights="DEFAULT")
    model.eval()
    with torch.no_grad():
        for path in ("cat.jpg", "dog.jpg"):
            image = cv2.imread(path)
            print(model(prepare(image).unsqueeze(0)).argmax(dim=1).item())
    ```

    ## Use instead
    ```diff
         for path in ("cat.jpg", "dog.jpg"):
    -        image = cv2.imread(path)
    +        image = cv2.cvtColor(cv2.imread(path), cv2.COLOR_BGR2RGB)
             print(model(prepare(image).unsqueeze(0)).argmax(dim=1).item())
    ```

    ## How the probe confirms it
    The values of an image do not show which channel comes first. The probe reads a sample of the data set several times,
    and changes one channel of the image where it is read: if the channel with the same number changes in the sample, and no
    other, and the model gets the batches as they are, the finding is confirmed. Otherwise, it stays undecided: the image
    is read in another way, its file is missing, it only has shades of gray, or augmentation mixes its channels.

    ## When it is not reported
    - If the statistics have the order of the images, for example those of Caffe for images in BGR.
    - If the statistics are unknown, or equal for all channels, and the model is not pretrained by a library.
    - If anything changes the images of which it is unknown whether it keeps the order of the channels.

    The order is known for images that OpenCV, Pillow, imageio or scikit-image reads, and for modules of the project that
    stand in for OpenCV, with its names.

    ## References
    - https://docs.pytorch.org/vision/stable/models.html
    """

    code = "TDR716"
    name = "channel-order"
    level = Level.WARNING
    witness = "SP"
    only_confirms = True
    needs = frozenset({"channels"})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Yield a finding for every place where images are read whose channels are not in the order that is expected."""
        for each in trace.run.measurements(claims.CHANNELS_KEPT) if trace.run is not None else ():
            if each.site is not None:
                yield self.finding(each.site, "images reach a model in the order of channels in which they were read")
        yield from first_per_site(
            self._report(event, meant, name, site) for event, meant, name, site in mismatches(trace)
        )

    def _report(self, event: InputPrepared, meant: str, name: str, site: Site) -> Finding:
        text = _STATISTICS if event.meant else _WEIGHTS
        said = "the statistics are here" if event.meant else "the pretrained model gets them here"
        return self.finding(
            event.prepared_at,
            message(text, name=name, theirs=FIRST[event.how], ours=FIRST[meant]),
            help=_CONVERT,
            trail=[Step(site, said)],
        )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:  # noqa: ARG002 - as all rules have it
        """Return why a run does not decide it."""
        return UNSEEN

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """Yield how many images were followed."""
        if images := counted(trace, finding.site, claims.CHANNELS_KEPT):
            yield fact(_KEPT.format(count(images, "image")), images, "images")


def mismatches(trace: Trace) -> Iterator[tuple[InputPrepared, str, str, Site]]:
    """Yield each input whose channels are in another order than what it meets: that order, the model, and where it meets it."""
    trained = {event.module for event in trace.of(Loaded) if event.pretrained}
    for event in trace.of(InputPrepared):
        forwards = (
            [each for each in trace.at(event.forward) if isinstance(each, Forward)] if event.sort == CHANNELS else []
        )
        for forward in forwards:
            weights = "RGB" if (event.part or forward.module) in trained and event.scaled_at is None else ""
            meant = event.meant or weights
            if meant and meant != event.how:
                yield event, meant, forward.name, event.scaled_at or event.site
