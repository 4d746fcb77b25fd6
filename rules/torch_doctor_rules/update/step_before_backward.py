"""TDR103: the step comes before the gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Figure, Move
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule, Step
from torch_doctor.trace import Backward, Stepped, Trace
from torch_doctor_rules.judging.beside import Beside
from torch_doctor_rules.judging.evidence import applied, at, gradients_at
from torch_doctor_rules.judging.frames import seen_from
from torch_doctor_rules.judging.gradients import Gradients, fills
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message, owner

if TYPE_CHECKING:
    from collections.abc import Iterator


class StepBeforeBackward(Rule):
    """`step()` runs before this batch's `backward()`, so it applies stale gradients or none.

    ## Why is this bad?
    The step for the first batch has no gradients and does nothing. If the loop clears the gradients before the step,
    no step ever has any. If it does not, every step applies the gradients of the previous batch, and those of the last
    batch are lost.

    ## Example
    ```python
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.step()
        loss.backward()
    ```

    ## Use instead
    ```diff
         loss = nn.functional.mse_loss(model(x), y)
    +    loss.backward()
         optimizer.step()
    -    loss.backward()
    ```

    ## How the probe confirms it
    At the first `step()`, no parameter has a gradient, or at every step the gradients are older than the batch.

    ## When it is not reported
    - Another optimizer has the same parameters, and applies these gradients.
    - The loop is only shifted by one (`step`, `zero_grad`, forward, `backward`), with a first `backward()` before the
      loop.
    - The step has a closure.
    - The step is behind a condition.
    - Unresolved code runs earlier, and nothing clears the gradients between it and the step.

    ## References
    - https://docs.pytorch.org/docs/stable/optim.html#taking-an-optimization-step
    - https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.step.html
    """

    code = "TDR103"
    name = "step-before-backward"
    level = Level.ERROR
    witness = "SP"
    fix = Fix.UNSAFE
    fix_changes = frozenset({Figure.GRADIENTS, Figure.UPDATES})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every step that has nothing, or nothing current, to apply."""
        gradients = trace.view(Gradients)
        wasted = {waste.step.site for waste in gradients.wasted()}
        steps = (step for step in trace.of(Stepped) if not (step.closure or step.manual or step.site in wasted))
        late = ((step, self._late(gradients, step)) for step in steps)
        yield from first_per_site(self._report(step, backward) for step, backward in late if backward is not None)

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Return whether these steps ran, each with gradients."""
        had = applied(trace, at(trace, finding.site, Stepped))
        return bool(had) if all(had) else "a step had no gradients, but possibly for another reason"

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How many parameters had a gradient at the first of the steps."""
        yield from gradients_at(trace, at(trace, finding.site, Stepped), "the first step")

    def _late(self, gradients: Gradients, step: Stepped) -> Backward | None:
        """The `backward()` of the step's iteration, when it surely comes too late."""
        trace = gradients.trace
        for backward in trace.view(Beside).sharing(step, Backward):
            if (
                backward.index > step.index
                and fills(backward)
                and trace.same_iteration(step, backward)
                and trace.implies(backward, step)
                and (moved := gradients.shared(step, backward))
                and trace.went_on(step)
                and trace.went_on(backward)
                and not _are_for_another(gradients, step, backward, moved)
                and gradients.finds_none(step, moved)
            ):
                return backward
        return None

    def _report(self, step: Stepped, backward: Backward) -> Finding:
        text = "`{name}.step()` runs before this batch's `backward()`: it applies stale gradients or none"
        return self.finding(
            step.site,
            message(text, name=owner(step.name, "step", "the optimizer")),
            help="call `step()` after the backward pass of the same batch",
            edits=[Move(step.site, to, after=True)] if (to := seen_from(step, backward)) is not None else [],
            trail=(
                Step(step.site, "the parameters are updated here"),
                Step(backward.site, "this batch's gradients are computed only here"),
            ),
        )


def _are_for_another(gradients: Gradients, step: Stepped, backward: Backward, modules: frozenset[int]) -> bool:
    """Whether another step of these modules, by this optimizer or another one, applies what the `backward()` computes."""
    trace = gradients.trace
    return any(
        other.index > backward.index
        and trace.same_iteration(backward, other)
        and gradients.on_path(other, step, backward)
        and modules & gradients.shared(backward, other)
        for other in trace.of(Stepped)
    )
