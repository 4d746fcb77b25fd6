"""TDR104: gradients that no step applies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from torch_doctor.rule import Evidence, Finding, Level, Rule, Step
from torch_doctor.trace import Backward, NotCalled, OptimizerBuilt, Stepped, Trace, ZeroGrad
from torch_doctor_rules.judging.evidence import at, count, fact
from torch_doctor_rules.judging.gradients import Gradients
from torch_doctor_rules.judging.precedence import uncalled
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.testing import in_a_test
from torch_doctor_rules.judging.wording import message, named, owner, sentence
from torch_doctor_rules.update.missing_step.unapplied import (
    are_read,
    cleared_only,
    is_cleared,
    may_be_applied,
    replaced,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

NEVER, ELSEWHERE, EXCHANGED = "never steps", "does not step here", "does not step where its scheduler does"


class MissingStep(Rule):
    """Gradients are computed for parameters whose optimizer never steps.

    ## Why is this bad?
    `backward()` only computes `.grad`. Without `optimizer.step()` no parameter changes, and the loss of every epoch is
    that of the initial weights. A scheduler's `step()` changes the learning rate and nothing else.

    ## Example
    ```python
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
    ```

    ## Use instead
    ```diff
         loss.backward()
    +    optimizer.step()
    ```

    ## How the probe confirms it
    `backward()` computed gradients in several batches, but no optimizer that has these parameters took a step. A step
    refutes the finding.

    ## When it is not reported
    - Unresolved code may step the optimizer before the gradients are cleared. If the optimizer itself is created in
      unresolved code, it is reported only if every iteration clears its gradients and computes new ones, and nothing
      steps.
    - The optimizer was passed to another thread, which may step it.
    - Gradients are assigned by hand, and no known forward pass led to them.
    - Another optimizer or a manual update changes the same parameters.
    - `backward()` is called outside a loop.
    - The optimizer steps in another loop, and this loop does not use it to clear gradients.
    - The script reads the gradients of parameters or inputs, for example to compare them, to print them or to draw a
      saliency map, or it has hooks that receive them.
    - The code is a test.

    ## References
    - https://docs.pytorch.org/docs/stable/optim.html#taking-an-optimization-step
    - https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.step.html
    """

    code = "TDR104"
    name = "missing-step"
    level = Level.ERROR
    witness = "SP"
    shown_by = "backward pass here for the parameters of this optimizer"
    only_confirms = True  # that a gradient is read leaves no event in a run

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Yield the first `backward()` in a loop for an optimizer that never steps."""
        yield from first_per_site(self._found(trace.view(Gradients)))

    def _found(self, gradients: Gradients) -> Iterator[Finding]:
        trace = gradients.trace
        built = {event.optimizer for event in trace.of(OptimizerBuilt)}
        unknown = {event.target for event in trace.of(NotCalled)} - built  # one of these, made over out of sight
        for optimizer in trace.of(OptimizerBuilt):
            name = self._name(trace, optimizer)
            if uncalled(trace, "step", {optimizer.optimizer, *unknown}):
                continue
            for backward in gradients.filling:
                waiting = gradients.family.within(optimizer.modules) & backward.modules
                waiting |= gradients.family.within(backward.modules) & optimizer.modules
                if (
                    waiting
                    and backward.index > optimizer.index
                    and backward.scope.iterations()
                    and trace.together(backward, optimizer)
                    and not may_be_applied(gradients, optimizer, backward, waiting)
                    and (not trace.begins_outside or name.isidentifier() or is_cleared(gradients, backward, waiting))
                    and not are_read(gradients, backward, waiting)
                    and not in_a_test(backward)
                ):
                    stepping = any(step.optimizer == optimizer.optimizer for step in trace.of(Stepped))
                    yield self._report(optimizer, name, backward, ELSEWHERE if stepping else NEVER)
                    break
        for cleared, backward in cleared_only(gradients):
            yield self._report(cleared, owner(cleared.name, "zero_grad", ""), backward)
        for optimizer, moved, backward in replaced(gradients):
            finding = self._report(optimizer, self._name(trace, optimizer), backward, EXCHANGED)
            yield replace(finding, trail=(*finding.trail, Step(moved.site, "only the scheduler steps here")))

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Return whether something updated the parameters that got these gradients."""
        passes, steps = at(trace, finding.site, Backward), self._steps(trace, finding)
        if not passes or not self._built(trace, finding):
            return False
        return bool(steps) or "the probe run had no such step, but it may have ended before one"

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How often the gradients were computed, and how often applied."""
        passes, steps = at(trace, finding.site, Backward), self._steps(trace, finding)
        text = f"{count(len(passes), 'backward pass', 'backward passes')}, {count(len(steps), 'step')} of the optimizer"
        yield fact(text, len(steps), "steps", passes[0] if passes else None)

    def _built(self, trace: Trace, finding: Finding) -> list[OptimizerBuilt]:
        """The optimizers of the probe run that were built where the finding says."""
        return [built for step in finding.trail[:1] for built in at(trace, step.site, OptimizerBuilt)]

    def _steps(self, trace: Trace, finding: Finding) -> list[Stepped]:
        """Return the steps of these optimizers, or of others that apply gradients to their parameters, before they are cleared."""
        gradients, built = trace.view(Gradients), self._built(trace, finding)
        own = {event.optimizer for event in built}
        owned = frozenset[int]().union(*(event.modules for event in built))
        steps: dict[int, Stepped] = {}
        for backward in at(trace, finding.site, Backward):
            theirs = owned & backward.modules
            for event in gradients.until_cleared(backward, theirs)[0] if theirs else ():
                if isinstance(event, Stepped) and (event.optimizer in own or event.modules & theirs):
                    steps[event.index] = event
        return list(steps.values())

    def _name(self, trace: Trace, optimizer: OptimizerBuilt) -> str:
        """What the user calls the optimizer, as far as it is seen."""
        return optimizer.name or next((e.name for e in trace.of(ZeroGrad) if e.target == optimizer.optimizer), "")

    def _report(self, optimizer: OptimizerBuilt | ZeroGrad, name: str, backward: Backward, how: str = NEVER) -> Finding:
        loss = owner(backward.name, "backward", "the loss")
        name = named(name, "the optimizer")
        what = "receives the parameters" if isinstance(optimizer, OptimizerBuilt) else "clears the gradients"
        return self.finding(
            backward.site,
            message("`{name}` {how}, so the gradients of `{loss}` are not applied", name=name, how=how, loss=loss),
            help=sentence("call `{name}.step()` after the backward pass", name=name),
            trail=(
                Step(optimizer.site, sentence("`{name}` " + what + " here", name=name)),
                Step(backward.site, "their gradients are computed here, but no step applies them"),
            ),
        )
