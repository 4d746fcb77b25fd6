"""TDR711: images reach the model with values from 0 to 255."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule, Step
from torch_doctor.trace import Backward, Forward, PixelsGiven, claims
from torch_doctor_rules.judging.causes import models, place
from torch_doctor_rules.judging.evidence import at, counted, fact, short
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message, owner

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Trace

SCALED = claims.INPUTS_NO_BYTES


class RawPixels(Rule):
    """Images reach the model's first layer with unscaled pixel values from 0 to 255.

    ## Why is this bad?
    Weights are initialized, and learning rates are chosen, for inputs of about 1. With inputs a hundred times larger,
    activations and gradients are larger, too: training diverges, or needs a tiny learning rate and is slow. A pretrained
    network was trained on a different range, so its outputs are meaningless.

    ## Example
    ```python
    images = torch.randint(0, 256, (16, 3, 8, 8), dtype=torch.uint8)
    labels = torch.arange(16) % 4
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    inputs = images.float()
    for step in range(3):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(inputs), labels).backward()
        optimizer.step()
    ```

    ## Use instead
    ```diff
     optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    -inputs = images.float()
    +inputs = images.float() / 255
     for step in range(3):
    ```

    ## How the probe confirms it
    The first layer with weights gets whole numbers up to 255.

    ## When it is not reported
    - If anything is computed with the values before the first layer, including in `forward`.
    - If the first layer is a normalization or an embedding, or is followed by a normalization.
    - If it is unknown what is read, or what a transform does with it.
    - For models that are not trained in the script and may have been trained on such values. Models of libraries that
      document another range are reported.
    - For all calls in a file except the first with the images that are read at one place.

    ## References
    - https://docs.pytorch.org/vision/stable/transforms.html#dtype-and-expected-value-range
    - https://docs.pytorch.org/vision/stable/generated/torchvision.transforms.v2.PILToTensor.html
    """

    code = "TDR711"
    name = "raw-pixels"
    level = Level.WARNING
    witness = "SP"
    voided_by = frozenset({"shapes"})
    only_confirms = True

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every forward call of a model that is trained here, or wants other inputs, with pictures as they are stored."""
        behind = {number for event in trace.of(Backward) for number in event.forwards}
        trained = {event.module for event in trace.at(*behind) if isinstance(event, Forward)}
        given = [event for event in trace.of(PixelsGiven) if event.documented or event.module in trained]
        for event in first_per_site(given):
            read = event.read_at
            yield self.finding(
                event.site,
                message(
                    "`{name}` gets pixel values from 0 to 255, but its weights expect inputs of about 1",
                    name=owner(event.name, "forward", "the model"),
                ),
                help="divide by 255, or use `torchvision.transforms.v2.ToDtype(torch.float32, scale=True)`",
                trail=[Step(read, "the images are read here and never scaled")] if read is not None else [],
                cause=models(trace, [event.module], event) if trace.observed else place(read),
            )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Return whether the model was called and its first layer got other values."""
        return bool(counted(trace, finding.site, SCALED))

    def speaks_alone(self, trace: Trace, finding: Finding) -> bool:
        """Real pictures, as they are stored, in front of a convolution: whatever read them, nothing has scaled them."""
        real = trace.run is not None and trace.run.voids("values") is None
        return real and any(event.shown for event in at(trace, finding.site, PixelsGiven))

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """Yield the largest input value."""
        for event in at(trace, finding.site, PixelsGiven)[:1]:
            text = f"the first layer gets whole numbers up to {short(event.largest)}"
            yield fact(text, event.largest, "", event)
