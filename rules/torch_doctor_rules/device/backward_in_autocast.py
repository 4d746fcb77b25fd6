"""TDR806: a backward pass under autocast."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Figure, Leave
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule, Step, same_place
from torch_doctor.trace import AutocastEntered, Backward, Forward
from torch_doctor_rules.judging.evidence import at, count, fact
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message, owner

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Site, Trace

METHODS = ("backward", "scale", "step", "zero_grad", "update", "unscale_", "clip_grad_norm_", "clip_grad_value_", "parameters",
           "get_scale", "get_last_lr", "item", "detach", "print", "append", "len", "float", "size")  # fmt: skip
"""What may follow a backward pass, and is the same outside of autocast."""


class BackwardInAutocast(Rule):
    """`backward()` runs inside the autocast block.

    ## Why is this bad?
    Autocast is meant for the forward pass and the loss. Backward operations run in the dtype that autocast chose for the
    corresponding forward operations, so they gain nothing from autocast. But hooks, custom autograd functions and gradient
    penalties that run during the backward pass are cast a second time. PyTorch's documentation advises against it.

    ## Example
    ```python
    for step in range(10):
        x = torch.randn(16, 4)
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = model(x).square().mean()
            loss.backward()
        optimizer.step()
    ```

    ## Use instead
    ```diff
             loss = model(x).square().mean()
    -        loss.backward()
    +    loss.backward()
         optimizer.step()
    ```

    ## How the probe confirms it
    Autocast is enabled when `backward()` is called.

    ## When it is not reported
    - For `torch.autograd.grad`, whose gradients are part of a loss.
    - For backward passes that a framework runs (`accelerator.backward(loss)`).
    - If autocast is disabled, or in the branch in which it is disabled.
    - For all backward passes in an autocast block except the first, or the first in each branch.

    ## References
    - https://docs.pytorch.org/docs/stable/amp.html#autocasting
    """

    code = "TDR806"
    name = "backward-in-autocast"
    level = Level.WARNING
    witness = "SP"
    fix = Fix.SAFE
    fix_changes = frozenset({Figure.GRADIENTS, Figure.UPDATES})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Yield a finding for the first backward pass in each enabled autocast block, for each branch."""
        blocks: dict[Site, list[Backward]] = {}
        found: list[Finding] = []
        for backward in trace.of(Backward):
            around = self._around(trace, backward)
            if around is None or (around.enabled is None and trace.asked(backward)):
                continue  # who decides about the pass may know that autocast is off
            if any(trace.together(first, backward) for first in blocks.get(around.site, ())):
                continue
            blocks.setdefault(around.site, []).append(backward)
            found.append(self._report(trace, backward, around))
        yield from first_per_site(found)

    def same(self, finding: Finding, seen: Finding) -> bool:
        """Return whether both report the same pass, or passes in the same block."""
        return same_place(finding.site, seen.site) or same_place(finding.trail[0].site, seen.trail[0].site)

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Return whether this backward pass ran outside autocast."""
        passes = at(trace, finding.site, Backward)
        off = any(self._entered(trace, each) is not None for each in passes)
        return "autocast is disabled in this run" if off else bool(passes)

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """Yield how many of these passes ran with autocast enabled."""
        passes = at(trace, finding.site, Backward)
        within = sum(self._around(trace, each) is not None for each in passes)
        yield fact(f"{within} of {count(len(passes), 'call')} run with autocast enabled", within, "calls")

    def _entered(self, trace: Trace, backward: Backward) -> AutocastEntered | None:
        around = trace.at(backward.autocast) if backward.autocast is not None else ()
        return next((event for event in around if isinstance(event, AutocastEntered)), None)

    def _around(self, trace: Trace, backward: Backward) -> AutocastEntered | None:
        entered = self._entered(trace, backward) if backward.through == "backward" else None
        return entered if entered is not None and entered.enabled is not False else None

    def _goes_on(self, trace: Trace, backward: Backward) -> bool:
        """Whether autocast is for something that comes after the backward pass, too."""
        return any(each.autocast == backward.autocast and each.index > backward.index for each in trace.of(Forward))

    def _report(self, trace: Trace, backward: Backward, around: AutocastEntered) -> Finding:
        return self.finding(
            backward.site,
            message(
                "`{name}.backward()` runs under autocast, which is meant for the forward pass and the loss only",
                name=owner(backward.name, "backward", "the loss"),
            ),
            help="end the autocast block before the backward pass",
            trail=(Step(around.site, "autocast is enabled here"),),
            edits=[Leave(backward.site, around.site, METHODS)] if not self._goes_on(trace, backward) else [],
        )
