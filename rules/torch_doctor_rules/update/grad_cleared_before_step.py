"""TDR102: gradients are cleared before they are applied."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Figure, Move
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule, Step
from torch_doctor.trace import Stepped, Trace, ZeroGrad, claims
from torch_doctor_rules.judging.evidence import applied, at, count, fact, gradients_at, numbers
from torch_doctor_rules.judging.frames import seen_from
from torch_doctor_rules.judging.gradients import Gradients, Wasted
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message, owner

if TYPE_CHECKING:
    from collections.abc import Iterator


class GradClearedBeforeStep(Rule):
    """`zero_grad()` between `backward()` and `step()` discards the gradients before they are applied.

    ## Why is this bad?
    `step()` reads `.grad`. After `zero_grad()` it is None, so the optimizer skips every parameter. (With
    `set_to_none=False` it is zero, and only momentum and weight decay change the weights.) The loop runs, the loss is
    computed, and the model learns nothing.

    ## Example
    ```python
    for x, y in loader:
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.zero_grad()
        optimizer.step()
    ```

    ## Use instead
    ```diff
         loss.backward()
    +    optimizer.step()
         optimizer.zero_grad()
    -    optimizer.step()
    ```

    ## How the probe confirms it
    At the next `step()`, no parameter of the optimizer has a gradient, although a `backward()` of the same iteration
    had computed them. If that step has gradients, the finding is refuted.

    ## When it is not reported
    - The cleared gradients belong to another optimizer or model.
    - The gradients are cleared on a path that skips the step, for example for a batch with bad gradients.
    - A step or another `backward()` comes in between.
    - Unresolved code runs in between.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.zero_grad.html
    - https://docs.pytorch.org/docs/stable/optim.html#taking-an-optimization-step
    """

    code = "TDR102"
    name = "grad-cleared-before-step"
    level = Level.ERROR
    witness = "SP"
    inside = True
    voided_by = frozenset({"optimizer"})  # it may clear gradients itself
    yields_to = frozenset({"TDR128"})
    explained_by = frozenset({"TDR213"})  # its gradients are zero from the start, and clipping leaves them so
    fix = Fix.UNSAFE
    fix_changes = frozenset({Figure.GRADIENTS, Figure.UPDATES})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every clearing that comes between the gradients and their step."""
        yield from first_per_site(self._report(wasted) for wasted in trace.view(Gradients).wasted())

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether every step that came next after this clearing had gradients to apply."""
        had = applied(trace, self._next_steps(trace, finding))
        return bool(had) if all(had) else "a later step had no gradients, but possibly not because of this call"

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How many parameters had a gradient when they were to be updated, at a step that the bug shows at."""
        wasted = [each.step for each in trace.view(Gradients).wasted() if each.cleared.site == finding.site]
        looked_at = [step for step, _ in numbers(trace, claims.STEPPED_PARAMETERS, *wasted)]
        if wasted and not looked_at:
            yield fact(f"cleared before the step {count(len(wasted), 'time')}", len(wasted), "times", wasted[0])
            return
        yield from gradients_at(trace, looked_at or self._next_steps(trace, finding), "the next step")

    def _next_steps(self, trace: Trace, finding: Finding) -> list[Stepped]:
        """Return the next step after each clearing at the finding's site, of the same optimizer if it has one."""
        steps = trace.of(Stepped)
        optimizers = {step.optimizer for step in steps}
        found = []
        for cleared in at(trace, finding.site, ZeroGrad):
            meant = {cleared.target} & optimizers or optimizers
            found += [step for step in steps if step.index > cleared.index and step.optimizer in meant][:1]
        return found

    def _report(self, wasted: Wasted) -> Finding:
        optimizer = owner(wasted.step.name, "step", "the optimizer")
        return self.finding(
            wasted.cleared.site,
            message(
                "gradients of `{loss}` are cleared before `{optimizer}.step()`, so nothing is applied",
                loss=owner(wasted.backward.name, "backward", "the loss"),
                optimizer=optimizer,
            ),
            help="clear the gradients after the step, or before the backward pass",
            edits=_edits(wasted),
            trail=(
                Step(wasted.backward.site, "gradients are computed here"),
                Step(wasted.cleared.site, "they are cleared here"),
                Step(wasted.step.site, "the step has no gradients to apply"),
            ),
        )


def _edits(wasted: Wasted) -> list[Move]:
    """Return the move of the call behind the step, or before the backward pass if the step is elsewhere, as in a closure."""
    backward, cleared, step = wasted
    to = seen_from(cleared, step)
    if to is not None:
        return [Move(cleared.site, to, after=True)]
    before = seen_from(cleared, backward)
    alike = cleared.scope.iterations() == backward.scope.iterations()
    return [Move(cleared.site, before)] if before is not None and alike else []
