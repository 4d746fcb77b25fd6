"""TDR116: `backward()` on a loss that was never reduced to one number."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule, Step, same_place
from torch_doctor.trace import Backward, Trace, claims
from torch_doctor_rules.judging.evidence import at, count, fact
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message, owner

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Measured

REFUSED = claims.REFUSED_LOSS_SIZE
HELP = "reduce the loss first: `.mean()`, or `.sum()` divided by the number of values that count"


class NonScalarBackward(Rule):
    """`backward()` is called on a loss that still has one value per sample.

    ## Why is this bad?
    With `reduction="none"`, a loss returns one value per sample, so that weights or masks can be applied. Autograd
    starts from a single value: `backward()` raises "grad can be implicitly created only for scalar outputs", except
    for a batch that happens to have one sample.

    ## Example
    ```python
    weights = torch.rand(16, 1)
    for _ in range(4):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(torch.randn(16, 4)), torch.randn(16, 1), reduction="none")
        loss = loss * weights
        loss.backward()
        optimizer.step()
    ```

    ## Use instead
    ```diff
         loss = nn.functional.mse_loss(model(torch.randn(16, 4)), torch.randn(16, 1), reduction="none")
    -    loss = loss * weights
    +    loss = (loss * weights).mean()
         loss.backward()
    ```

    ## How the probe confirms it
    `backward()` raises an error for a loss with several values. A `backward()` on that line that succeeds refutes the
    finding.

    ## When it is not reported
    - The loss is reduced on some path, passes through an unknown function, or is indexed.
    - `backward(gradient)` specifies the weight of each value.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.Tensor.backward.html
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.CrossEntropyLoss.html
    """

    code = "TDR116"
    name = "non-scalar-backward"
    level = Level.ERROR
    witness = "SP"
    voided_by = frozenset({"inside"})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every `backward()` on such a loss, or that was refused for it."""
        if trace.observed:
            for site in dict.fromkeys(refused.site for refused in _refused(trace)):
                if site is not None:
                    text = "the loss has several values, but `backward()` needs a scalar: it raises an error"
                    yield self.finding(site, text, help=HELP)
            return
        for backward in first_per_site(trace.of(Backward)):
            if backward.loss.scalar is False and backward.weighted is False and backward.through != "autograd.grad":
                yield self._report(backward)

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether gradients were computed there."""
        return bool(at(trace, finding.site, Backward))

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How many numbers the loss has."""
        for refused in _refused(trace):
            if refused.site is not None and same_place(finding.site, refused.site):
                text = f"`backward()` raises an error for a loss of {count(float(refused.value), 'value')}"
                yield Evidence(text, refused.value, refused.unit, refused.site)
                return
        passes = at(trace, finding.site, Backward)
        if passes:
            text = f"{count(len(passes), 'backward pass', 'backward passes')} succeeded"
            yield fact(text, len(passes), "backward passes", passes[0])

    def _report(self, backward: Backward) -> Finding:
        name = owner(backward.name, "backward", "the loss")
        text = "`{name}` has one value per sample, but `backward()` needs a scalar: it raises an error"
        operation_at = backward.loss.operation_at
        trail = [] if operation_at is None else [Step(operation_at, "the loss keeps one value per sample here")]
        return self.finding(backward.site, message(text, name=name), help=HELP, trail=trail)


def _refused(trace: Trace) -> list[Measured]:
    """What the probe measured of losses that `backward()` did not take."""
    return [] if trace.run is None else trace.run.measurements(REFUSED)
