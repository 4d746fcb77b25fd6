"""TDR105: steps without gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule, Step
from torch_doctor.trace import Backward, Clipped, Escaped, Forward, GaveUp, LossCalled, Meant, Stepped, Trace, ZeroGrad
from torch_doctor_rules.judging.beside import Beside
from torch_doctor_rules.judging.evidence import applied, at, count, fact
from torch_doctor_rules.judging.gradients import Gradients
from torch_doctor_rules.judging.precedence import uncalled
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message, owner

if TYPE_CHECKING:
    from collections.abc import Iterator


class MissingBackward(Rule):
    """`step()` runs in a loop in which no `backward()` computes gradients for it.

    ## Why is this bad?
    Without gradients the optimizer skips every parameter. The loop runs and prints the loss, but the model never
    changes.

    ## Example
    ```python
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.step()
    ```

    ## Use instead
    ```diff
         loss = nn.functional.mse_loss(model(x), y)
    +    loss.backward()
         optimizer.step()
    ```

    ## How the probe confirms it
    At every `step()` of the run, no parameter of the optimizer has a gradient. A single gradient refutes the finding.

    ## When it is not reported
    - The loop computes no loss of the model, for example because it only plots a learning-rate schedule.
    - The step has a closure that calls `backward()` or cannot be resolved.
    - The model, its optimizer or its outputs are passed to unresolved code that may call `backward()`. Code that only
      creates an optimizer or a scheduler from them does not count.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.Tensor.backward.html
    - https://docs.pytorch.org/docs/stable/optim.html#taking-an-optimization-step
    """

    code = "TDR105"
    name = "missing-backward"
    level = Level.ERROR
    witness = "SP"
    shown_by = "step here"
    needs_end = True
    explained_by = frozenset(("TDR113", "TDR115"))  # a `backward()` that reaches no parameter
    meant = Meant.FILLED

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every step in a loop that computes a loss and never its gradients."""
        gradients = trace.view(Gradients)
        steps = [step for step in trace.of(Stepped) if not (step.manual or step.clears)]
        if not uncalled(trace, "backward"):
            found = ((step, self._forward(gradients, step)) for step in steps)
            yield from first_per_site(self._report(step, forward) for step, forward in found if forward is not None)

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Return whether these steps ran with gradients."""
        had = applied(trace, at(trace, finding.site, Stepped))
        return any(had) or (bool(had) and "there was no gradient, but possibly none is needed")

    def speaks_alone(self, trace: Trace, finding: Finding) -> bool:  # noqa: ARG002 - it is about all that goes backward
        """Return whether the source has no `backward()` either: one may come later than the run."""
        return trace.run is not None and not trace.run.foreseen

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How many of the steps had a gradient to apply."""
        had = applied(trace, at(trace, finding.site, Stepped))
        yield fact(f"{sum(had)} of the first {count(len(had), 'step')} had a gradient to apply", sum(had), "steps")

    def _forward(self, gradients: Gradients, step: Stepped) -> Forward | None:
        """Return the forward pass of the step's iteration that feeds a loss without a backward pass."""
        trace = gradients.trace
        for forward in trace.view(Beside).sharing(step, Forward):
            if forward.index > step.index:
                break
            if (
                forward.grad is not False
                and forward.output.graph is not False
                and (gradients.moves(step, forward.module) or _is_idle(gradients, step))
                and trace.same_iteration(forward, step)
                and trace.together(forward, step)
                and self._is_for_training(trace, forward, step)
                and not _may_ever_come(gradients, step, forward)
            ):
                return forward
        return None

    def _is_for_training(self, trace: Trace, forward: Forward, step: Stepped) -> bool:
        """Whether a loss is computed from the forward, or the gradients are cleared for it."""
        clears = (event.target == step.optimizer and trace.same_iteration(event, step) for event in trace.of(ZeroGrad))
        losses = [forward.index in (each.input.forwards | each.output.forwards) for each in trace.of(LossCalled)]
        return any(losses) or (not trace.begins_outside and any(clears))

    def _report(self, step: Stepped, forward: Forward) -> Finding:
        text = "`{optimizer}.step()` has nothing to apply: no `backward()` computes gradients for it"
        return self.finding(
            step.site,
            message(text, optimizer=owner(step.name, "step", "the optimizer")),
            help="call `backward()` on the loss before the step",
            trail=(
                Step(forward.site, "the forward pass runs here"),
                Step(step.site, "the step follows without a backward pass"),
            ),
        )


def _is_idle(gradients: Gradients, step: Stepped) -> bool:
    """Return whether the step only changes modules that never run: the optimizer was created from another model."""
    ran = [forward.module for forward in gradients.trace.of(Forward)]
    return step.whole and bool(step.modules) and not gradients.family.related(step.modules, ran)


def _may_ever_come(gradients: Gradients, step: Stepped, forward: Forward) -> bool:
    """Return whether any code may compute gradients for the step's modules, or through the forward pass.

    Code that sets gradients by hand may set them to any value.
    """
    trace, modules = gradients.trace, step.modules | {forward.module}
    backwards = [event for event in trace.of(Backward) if event.through != "autograd.grad"]
    if not all(map(modules.isdisjoint, (event.modules for event in backwards))):
        return True  # by far the most frequent answer, without a look at families
    if not step.whole and any(trace.same_iteration(event, step) for event in backwards):
        return True  # it may be for what the optimizer has besides
    for backward in backwards:
        behind = trace.at(*(backward.loss.graph_forwards or backward.forwards))
        computed = (each.module for each in behind if isinstance(each, Forward))
        if gradients.may_concern(backward, modules) or gradients.family.related(computed, modules):
            return True
    by_hand = any(not event.target and gradients.may_concern(event, modules) for event in trace.of(ZeroGrad))
    others = (event for kind in (Clipped, Escaped, GaveUp) for event in trace.of(kind))
    return by_hand or any(gradients.may_fill(event, modules) for event in others)
