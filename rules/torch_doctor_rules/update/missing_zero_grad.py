"""TDR101: gradients from earlier steps are never cleared."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from torch_doctor.edits import Figure, Forget, Insert
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule, Step
from torch_doctor.trace import Backward, Stepped, Trace, claims
from torch_doctor_rules.judging.evidence import THOUSAND, at, count, fact, numbers
from torch_doctor_rules.judging.gradients import Gradients
from torch_doctor_rules.judging.precedence import uncalled
from torch_doctor_rules.judging.wording import is_path, message, owner, sentence

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

OLD = claims.GRADIENT_RATIO
MOST_LINES = 3


class MissingZeroGrad(Rule):
    """Gradients are not cleared between steps, so each `backward()` adds to those of earlier steps.

    ## Why is this bad?
    `backward()` adds to `.grad`; it does not replace it. If the gradients are not cleared between two steps, every
    update uses the sum over all batches so far: the step grows and points in the wrong direction. No error is raised;
    the loss stalls or explodes. Clearing the gradients outside the batch loop, or those of another optimizer, is just
    as wrong.

    ## Example
    ```python
    for x, y in loader:
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
    ```

    ## Use instead
    ```diff
     for x, y in loader:
    +    optimizer.zero_grad()
         loss = nn.functional.mse_loss(model(x), y)
    ```

    ## How the probe confirms it
    A hook on each parameter runs before gradients are accumulated. At the first `backward()` after a step, it finds
    that the old gradient is still there, step after step. The evidence is the size of the accumulated gradient
    relative to this batch's own gradient.

    ## When it is not reported
    - Code between the two passes may clear the gradients: the optimizer, the module, `p.grad = None`, a helper
      function, a step closure, the generator that yields the batches, or unresolved code.
    - The sum is cleared before a step applies it. In a GAN, for example, the discriminator's own pass clears the
      gradients that the generator's loss left.
    - Gradients are accumulated over several batches for one step.
    - No step follows (attacks, saliency maps, Fisher information).
    - The gradients are computed with `torch.autograd.grad`.

    If several backward passes compute the gradients of one optimizer, only the first is reported.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.zero_grad.html
    - https://docs.pytorch.org/docs/stable/generated/torch.Tensor.backward.html
    """

    code = "TDR101"
    name = "missing-zero-grad"
    level = Level.ERROR
    witness = "SP"
    inside = True
    voided_by = frozenset({"optimizer"})  # it may clear gradients itself
    explained_by = frozenset({"TDR128"})
    shown_by = "second backward pass here after an update"
    fix = Fix.UNSAFE
    fix_changes = frozenset({Figure.GRADIENTS, Figure.UPDATES})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """The first `backward()` for each set of parameters that finds their gradients of an earlier step."""
        gradients, reported = trace.view(Gradients), set[int]()
        for again in gradients.adding:
            if found := [pair for pair in self._stale(gradients, again) if not pair[1] <= reported]:
                reported.update(*(modules for _, modules in found))
                yield self._report([step for step, _ in found], again)

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether an update lay between two of these backward passes, and the second found no old gradient."""
        again = self._after_steps(trace, finding)
        if any(numbers(trace, OLD, *again)):
            return "old gradients were still there, but not those of the updated parameters"
        return any(step.index > again[0].index for step in trace.of(Stepped)) if again else False

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How large the old gradients made the new ones."""
        passes = at(trace, finding.site, Backward)
        old = [*numbers(trace, OLD, *self._after_steps(trace, finding))] or [*numbers(trace, OLD, *passes)]
        for event, value in old[:MOST_LINES]:
            before = [each for each in trace.of(Stepped) if each.index < event.index and each.modules & event.modules]
            text = f"the gradient at step {len(before) + 1} is {_times(value)} this batch's own gradient"
            yield fact(text, value, "×", event)
        if not old:
            often = count(len(passes), "backward pass", "backward passes")
            yield fact(f"{often} found no old gradient", len(passes), "backward passes")

    def _after_steps(self, trace: Trace, finding: Finding) -> list[Backward]:
        """Return the backward passes at the finding's site that are the first after an update of their parameters."""
        return [
            last
            for first, last in pairwise(at(trace, finding.site, Backward))
            if any(step.modules & last.modules for step in trace.between(first, last, Stepped))
        ]

    def _stale(self, gradients: Gradients, again: Backward) -> Iterator[tuple[Stepped, frozenset[int]]]:
        """The steps of earlier iterations whose gradients are still there for `again` to add to, the latest first."""
        trace = gradients.trace
        for earlier in reversed(gradients.adding):
            if earlier.index >= again.index or earlier.site != again.site or trace.same_iteration(earlier, again):
                continue
            for step in trace.between(earlier, again, Stepped):
                left = gradients.still_there(earlier, step, again)
                stale = left - gradients.harmless(left, again) if left else left
                meant = {step.optimizer, *stale}
                if stale and not uncalled(trace, "zero_grad", meant, gradients.family, (earlier, again)):
                    yield step, stale

    def _report(self, steps: Sequence[Stepped], again: Backward) -> Finding:
        step, optimizer = steps[0], owner(steps[0].name, "step", "the optimizer")
        clear = sentence("call `{name}.zero_grad()` before the backward pass of every step", name=optimizer)
        return self.finding(
            again.site,
            message(
                "gradients from earlier steps are never cleared, so `{loss}.backward()` accumulates them",
                loss=owner(again.name, "backward", "the loss"),
            ),
            help="set the gradients to None after every update" if step.manual else clear,
            trail=(
                Step(again.site, "gradients are computed here"),
                Step(step.site, "they are applied here, but not cleared"),
                Step(again.site, "the next iteration adds to them"),
            ),
            edits=_forgetting(steps, again) if step.manual else _clearing(step, again, optimizer),
            cause=f"{step.optimizer} of {step.scope.chain()[0].site}" if step.optimizer else "",
        )


def _clearing(step: Stepped, again: Backward, optimizer: str) -> list[Insert]:
    """Clear before the pass; where several passes make one update, after the update."""
    if not is_path(optimizer):
        return []
    after = bool(step.guards - again.guards)
    return [Insert(step.site if after else again.site, f"{optimizer}.zero_grad()", after=after)]


def _forgetting(steps: Sequence[Stepped], again: Backward) -> list[Forget]:
    """The gradients that are applied by hand, cleared one by one."""
    places = dict.fromkeys(step.site for step in steps)
    return [Forget(site, again.site) for site in places] if all(step.manual for step in steps) else []


def _times(value: float) -> str:
    """A ratio, as exact as it matters: `3.1 ×`."""
    return f"{value:,.0f} ×" if value >= THOUSAND else f"{value:.3g} ×"
