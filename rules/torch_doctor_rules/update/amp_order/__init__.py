"""TDR109: calls of the gradient scaler are missing or in the wrong order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Figure, Scale
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule, Step
from torch_doctor.trace import Backward, Clipped, Stepped
from torch_doctor_rules.judging.evidence import at, count, fact
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message, owner
from torch_doctor_rules.update.amp_order.scaling import BESIDE, CLIPPED, NEVER_UPDATED, Scaling

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Trace
    from torch_doctor_rules.update.amp_order.scaling import Broken

TEXTS = {
    CLIPPED: (
        "scaled gradients are clipped: `unscale_({name})` is missing, so every update is clipped",
        "unscale the gradients before clipping them",
    ),
    BESIDE: (
        "`{name}.step()` bypasses the scaler: it applies gradients that are far too large",
        "step the optimizer through the scaler",
    ),
    NEVER_UPDATED: (
        "the scaler steps `{name}`, but is never updated: its scale never adapts",
        "update the scaler after the step",
    ),
}
OTHERWISE = (
    "`{name}.backward()` bypasses the scaler: its gradients are far too small",
    "scale the loss before the backward pass",
)
CALLS = {CLIPPED: "unscale_", BESIDE: "step", NEVER_UPDATED: "update"}
"""The missing call for each mistake."""


class AmpOrder(Rule):
    """Calls for mixed precision are missing or in the wrong order, so gradients have the wrong size.

    ## Why is this bad?
    A gradient scaler multiplies the loss by a large number, initially 65536, and divides the gradients by it before
    they are applied. Gradients that are clipped in between are far above any limit, so clipping determines the length
    of every update. A step that bypasses the scaler applies gradients 65536 times too large; a backward pass that
    bypasses it leaves them that much too small. Without `update()` the scale never adapts, and torch refuses the
    second step.

    ## Example
    ```python
    x, y = torch.randn(64, 4), torch.randn(64, 1)
    scaler = torch.amp.GradScaler("cpu")

    for step in range(4):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        scaler.scale(loss).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
    ```

    ## Use instead
    ```diff
         scaler.scale(loss).backward()
    +    scaler.unscale_(optimizer)
         nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    ```

    ## Fix safety
    The fix adds the missing call. Updates then have another size, for which the learning rate was not tuned.

    ## How the probe confirms it
    At the call, the probe checks whether the gradients come from a loss that the scaler multiplied, and whether they
    should. A missing `update()` shows when torch refuses the next step. Calls in the right order refute the finding.

    ## When it is not reported
    - The scaler is disabled, or a branch with an unknown condition may be the one without a scaler.
    - A framework unscales before it clips, or runs the backward pass itself.
    - The gradients are changed by hand, the scaler is passed to unresolved code, or something else cannot be resolved.
    - The step and the backward pass concern different parameters, or different iterations of a loop.
    - `update` is named but not called (TDR111).

    ## References
    - https://docs.pytorch.org/docs/stable/notes/amp_examples.html#gradient-clipping
    - https://docs.pytorch.org/docs/stable/amp.html#gradient-scaling
    """

    code = "TDR109"
    name = "amp-order"
    level = Level.ERROR
    witness = "SP"
    fix = Fix.UNSAFE
    fix_changes = frozenset({Figure.GRADIENTS, Figure.UPDATES})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every call that breaks the scaler's protocol."""
        yield from first_per_site(self._found(trace))

    def _found(self, trace: Trace) -> Iterator[Finding]:
        clipped = {
            found.step.site: found.event.site
            for found in reversed([*trace.view(Scaling).broken()])
            if found.how == CLIPPED
        }
        for found in trace.view(Scaling).broken():
            alone = found.how != CLIPPED or clipped[found.step.site] == found.event.site  # gradients are unscaled once
            yield self._report(found, _edits(found) if alone else [])

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Return whether these calls ran in order with a scaler that is enabled."""
        scaling = trace.view(Scaling)
        if scaling.off:
            return "the gradient scaler is disabled in the probe run"
        calls = scaling.in_order(finding.site)
        if calls:
            return all(calls) or "some of these calls are out of order, but possibly for another reason"
        ran = any(at(trace, finding.site, kind) for kind in (Backward, Clipped, Stepped))
        return "the probe run did not reach the scaler's step" if ran else False

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How many of these calls came in order."""
        calls = trace.view(Scaling).in_order(finding.site) or [False]
        text = f"{sum(calls)} of {count(len(calls), 'call')} follow the scaler's protocol"
        yield fact(text, sum(calls), "calls")

    def _report(self, found: Broken, edits: list[Scale]) -> Finding:
        loss = owner(found.backward.name, "backward", "the loss")
        optimizer = owner(found.step.name, "step", "the optimizer")
        text, remedy = TEXTS.get(found.how, OTHERWISE)
        places = {found.backward.site: "the gradients are computed here", found.step.site: "they are applied here"}
        return self.finding(
            found.event.site,
            message(text, name=optimizer if found.how in TEXTS else loss),
            help=remedy,
            trail=[Step(site, note) for site, note in places.items() if site != found.event.site],
            edits=edits,
        )


def _edits(found: Broken) -> list[Scale]:
    """The call that the protocol lacks."""
    of = found.backward.site if found.how == BESIDE else found.step.site
    return [Scale(found.event.site, CALLS.get(found.how, "scale"), of)]
