"""TDR805: float16 training without gradient scaling."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule, Step
from torch_doctor.trace import AutocastEntered, Backward, Moved
from torch_doctor_rules.device.fp16_without_scaler.precision import HALF, Precision
from torch_doctor_rules.judging.evidence import at, count, fact
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Stepped, Trace


class Fp16WithoutScaler(Rule):
    """A model is trained in float16 without gradient scaling.

    ## Why is this bad?
    float16 cannot represent numbers below 6e-8. Gradients are often smaller than that, so they underflow to zero in the
    backward pass, and the affected weights are not updated. Training stalls or gets worse without any error. A gradient
    scaler multiplies the loss so that the gradients fit, and divides them again before the step.

    ## Example
    ```python
    model = nn.Linear(4, 1).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    for step in range(10):
        x = torch.randn(16, 4, device=device)
        optimizer.zero_grad()
        with torch.autocast(device.type, dtype=torch.float16):
            loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
    ```

    ## Use instead
    ```diff
     optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    +scaler = torch.amp.GradScaler(device.type)
    ...
             loss = model(x).square().mean()
    -    loss.backward()
    -    optimizer.step()
    +    scaler.scale(loss).backward()
    +    scaler.step(optimizer)
    +    scaler.update()
    ```

    ## How the probe confirms it
    A forward pass runs under float16 autocast or with float16 weights, `backward()` runs on the unscaled loss, and an ordinary
    optimizer step applies the gradients. If the probe substitutes the CPU for a GPU, autocast computes in float32 but still
    counts as enabled.

    ## When it is not reported
    - For bfloat16, which has the range of float32.
    - For inference, and for the single step of a test.
    - With a gradient scaler or a framework. TDR109 reports scalers that are used incorrectly.
    - If gradients are divided by hand.
    - If the dtype is unknown, or a function that is not analyzed decides whether autocast is enabled.

    ## References
    - https://docs.pytorch.org/docs/stable/amp.html#gradient-scaling
    - https://docs.pytorch.org/docs/stable/notes/amp_examples.html#typical-mixed-precision-training
    """

    code = "TDR805"
    name = "fp16-without-scaler"
    level = Level.ERROR
    witness = "SP"

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Yield a finding for every float16 autocast or conversion that is trained without scaling."""
        yield from first_per_site(self._report(*found) for found in trace.view(Precision).unscaled())

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Return whether a backward pass used another precision, or a scaled loss."""
        halved = (move for move in at(trace, finding.site, Moved) if move.dtype)
        begun: list[AutocastEntered | Moved] = [*at(trace, finding.site, AutocastEntered), *halved]
        if not begun:
            return False
        if any(each.enabled is False for each in at(trace, finding.site, AutocastEntered)):
            return "autocast is disabled in this run"
        if any(each.dtype != HALF for each in begun):
            return "without a GPU, this run computes in another dtype" if begun[0].device == "cpu" else True
        if any(backward.divided for backward in at(trace, finding.trail[0].site, Backward)):
            return "the loss is multiplied or divided, and the run does not show whether the gradients are, too"
        return trace.view(Precision).scaled or "no optimizer step applied gradients that were computed this way"

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """Yield how many backward passes were scaled."""
        passes = at(trace, finding.trail[0].site, Backward)
        scaled = sum(bool(each.scaled) for each in passes)
        yield fact(f"{scaled} of {count(len(passes), 'backward pass', 'backward passes')} are scaled", scaled, "passes")

    def _report(self, begin: AutocastEntered | Moved, backward: Backward, step: Stepped) -> Finding:
        if isinstance(begin, Moved):
            text = message(
                "`{name}` is trained in float16 without a gradient scaler: small gradients underflow to zero",
                name=begin.name,
            )
        else:
            text = "training under float16 autocast without a gradient scaler: small gradients underflow to zero"
        return self.finding(
            begin.site,
            text,
            help="scale the loss with `torch.amp.GradScaler`, or train in `torch.bfloat16`",
            trail=(
                Step(backward.site, "the loss is not scaled here"),
                Step(step.site, "its gradients are applied here"),
            ),
        )
