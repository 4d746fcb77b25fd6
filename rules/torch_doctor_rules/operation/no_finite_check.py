"""TDR904: a long training loop never checks for NaN."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Finding, Level, Rule
from torch_doctor.trace import (
    Backward,
    Escaped,
    FiniteChecked,
    GaveUp,
    LoopEntered,
    LoopKind,
    Owned,
    ScalerBuilt,
    SettingSet,
)
from torch_doctor_rules.judging.gradients import fills
from torch_doctor_rules.judging.loaders import Loaders
from torch_doctor_rules.judging.wording import message, sentence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Trace

LONG = 10
"""Epochs from which on a loop is long."""


class NoFiniteCheck(Rule):
    """A long training loop never checks whether the loss is finite.

    ## Why is this bad?
    One NaN or Inf in a gradient makes every parameter NaN at the next step, and no later step repairs it. The run
    continues for hours or days, and useless checkpoints overwrite the good ones.

    ## Example
    ```python
    for epoch in range(100):
        for x, y in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
    ```

    ## Use instead
    ```diff
             optimizer.zero_grad()
    -        nn.functional.mse_loss(model(x), y).backward()
    +        loss = nn.functional.mse_loss(model(x), y)
    +        if not torch.isfinite(loss):
    +            raise RuntimeError(f"the loss is {loss.item()} in epoch {epoch}")
    +        loss.backward()
             optimizer.step()
    ```

    ## How the probe confirms it
    It does not: a few steps do not show what happens after days.

    ## When it is not reported
    - Anything is tested for NaN or Inf.
    - A gradient scaler skips such steps, or anomaly detection is enabled.
    - The loss goes into unresolved code or comes from it.
    - A framework owns the training loop.
    - The loop is not over epochs of batches.
    - There are fewer than ten epochs, or their number is unknown, even as the default of an option.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.isfinite.html
    """

    code = "TDR904"
    name = "no-finite-check"
    level = Level.ADVICE
    witness = "S"

    def check(self, trace: Trace) -> Iterator[Finding]:
        """The first backward pass of a long loop in which nothing is tested."""
        if any(self._guards(event) for event in trace.events) or not any(trace.view(Loaders).training()):
            return
        escaped = frozenset[int]().union(*(event.forwards for event in trace.of(Escaped)))
        long = {event.loop for event in trace.of(LoopEntered) if event.length is not None and event.length >= LONG}
        for backward in trace.of(Backward):
            loops = backward.scope.iterations()
            batches = [scope for scope in loops if scope.loop_kind is LoopKind.BATCHES]
            epochs = [scope for scope in loops if scope.loop in long and scope not in batches[-1:]]
            seen = backward.forwards | backward.loss.forwards
            known = bool(seen or backward.modules)
            if fills(backward) and known and batches and epochs and not escaped & seen:
                yield self.finding(
                    backward.site,
                    message(
                        "`{name}` is never checked for NaN or Inf: after the first one, the run is lost",
                        name=backward.name,
                    ),
                    help=sentence(
                        "stop or skip the step if `{name}` is not finite (`torch.isfinite`)", name=backward.name
                    ),
                )
                return

    def _guards(self, event: object) -> bool:
        """Return whether an event checks for NaN or Inf, or may do so in unresolved code."""
        if isinstance(event, ScalerBuilt):
            return event.enabled is not False
        if isinstance(event, SettingSet):
            return event.setting == "torch.autograd.set_detect_anomaly" and event.value is not False
        return isinstance(event, (FiniteChecked, Owned, GaveUp))
