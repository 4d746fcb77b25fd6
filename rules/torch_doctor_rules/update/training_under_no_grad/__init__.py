"""TDR113: a module that is trained runs with autograd disabled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule, Step
from torch_doctor.trace import Backward, Forward, GradModeEntered, GradModeExited, PartUnrecorded, Trace
from torch_doctor_rules.judging.evidence import at, count, fact
from torch_doctor_rules.judging.forward_evidence import batches
from torch_doctor_rules.judging.graph_cuts import last_trainable, refused
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message
from torch_doctor_rules.update.training_under_no_grad.unrecorded import first_unrecorded, unrecorded_parts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Site


class TrainingUnderNoGrad(Rule):
    """The training forward pass runs under `no_grad`, `inference_mode` or `set_grad_enabled(False)`.

    ## Why is this bad?
    Autograd records nothing there, so the loss has no graph and `backward()` raises an error. If the loss is made to
    require gradients to silence the error, `backward()` gives a gradient to the loss alone and to no parameter. Often
    a function call disabled gradients for validation, and they were never enabled again.

    ## Example
    ```python
    for _ in range(4):
        x, y = torch.randn(16, 4), torch.randn(16, 1)
        optimizer.zero_grad()
        with torch.no_grad():
            prediction = model(x)
        loss = nn.functional.mse_loss(prediction, y)
        loss.backward()
        optimizer.step()
    ```

    ## Use instead
    ```diff
         optimizer.zero_grad()
    -    with torch.no_grad():
    -        prediction = model(x)
    +    prediction = model(x)
         loss = nn.functional.mse_loss(prediction, y)
    ```

    ## How the probe confirms it
    The forward pass runs with autograd disabled, and `backward()` raises an error for its loss or reaches no
    parameter.

    ## When it is not reported
    - Another forward pass behind the loss is recorded (frozen encoders, teachers and targets under `no_grad`), and no
      optimizer was given this module to train, or its weights were loaded.
    - The module has nothing to train, or is recorded elsewhere.
    - It is unknown whether autograd records.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.no_grad.html
    - https://docs.pytorch.org/docs/stable/generated/torch.set_grad_enabled.html
    """

    code = "TDR113"
    name = "training-under-no-grad"
    level = Level.ERROR
    witness = "SP"
    shown_by = "call here after autograd was disabled"
    needs = frozenset({"parameters"})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """The first forward of every loss that goes backward without a graph, because none was recorded."""
        losses = (
            (backward.site, forward)
            for backward in trace.of(Backward)
            if (forward := first_unrecorded(trace, backward)) is not None and not _asks_first(trace, backward)
        )
        parts = ((backward.site, forward) for backward, forward in unrecorded_parts(trace))
        yield from first_per_site(self._report(trace, forward, site) for site, forward in (*losses, *parts))
        last = last_trainable(trace)
        if last is not None and last.grad is False:
            yield from (self._report(trace, last, site) for site in refused(trace)[:1])

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Return whether the forward pass ran after autograd was disabled, and was still recorded."""
        site = finding.trail[0].site
        switches = [event.index for event in (*at(trace, site, GradModeEntered), *at(trace, site, GradModeExited))]
        forwards = at(trace, finding.site, Forward)
        if not forwards and at(trace, finding.trail[-1].site, Backward):
            return "it is unknown which parts of the module are recorded"
        if len(finding.trail) > 1 and forwards and not switches:
            return "it is unknown whether it was called with parameters that have no graph"
        if len(finding.trail) > 1:  # before it, all is well
            forwards = [forward for forward in forwards if switches and forward.index > min(switches)]
        if any(forward.grad is False for forward in forwards):
            return "autograd is disabled there, but possibly on purpose"
        return bool(forwards)

    def speaks_alone(self, trace: Trace, finding: Finding) -> bool:
        """Whether the whole forward was not recorded: a part may be frozen on purpose."""
        return not at(trace, finding.site, PartUnrecorded)

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How many forwards were not recorded."""
        parts = at(trace, finding.site, PartUnrecorded)
        for part in parts[:1]:
            calls, steps = count(part.calls, "call"), count(part.steps, "step")
            yield fact(f"{calls} with autograd disabled, and {steps} without a gradient", part.calls, "calls", part)
        if parts:
            return
        forwards = at(trace, finding.site, Forward)
        yield from batches(
            forwards, "run with autograd disabled", lambda event: event.grad is False, "training batches"
        )

    def _report(self, trace: Trace, forward: Forward | PartUnrecorded, backward: Site) -> Finding:
        modes = [*trace.of(GradModeEntered), *trace.of(GradModeExited)]
        before = [mode for mode in modes if mode.index < forward.index and trace.together(mode, forward)]
        off = max(before, key=lambda mode: mode.index, default=None)
        trail = [] if off is None else [Step(off.site, "autograd is disabled here")]
        trail.append(Step(backward, "`backward()` is called on its loss here"))
        return self.finding(
            forward.site,
            message("`{name}` is trained with autograd disabled: `backward()` reaches no parameter", name=forward.name),
            help="call it with autograd enabled, outside of `no_grad()`",
            trail=trail,
        )


def _asks_first(trace: Trace, backward: Backward) -> bool:
    """Return whether a condition of unknown meaning guards a `backward()` that has a graph elsewhere: it may check for one."""
    if trace.asked(backward) and not trace.observed:
        return True
    return bool(backward.guards) and any(other.loss.graph is True for other in at(trace, backward.site, Backward))
