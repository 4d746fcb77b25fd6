"""TDR101: gradients of earlier steps are never cleared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Finding, Fix, Level, Rule, Step
from torch_doctor.trace import Backward, Stepped, Trace
from torch_doctor_rules.gradients import Gradients
from torch_doctor_rules.precedence import uncalled
from torch_doctor_rules.wording import message, owner

if TYPE_CHECKING:
    from collections.abc import Iterator


class MissingZeroGrad(Rule):
    """Gradients of earlier steps are still there when the next `backward()` adds to them.

    ## Why is this bad?
    `backward()` adds to `.grad`, it does not replace it. Unless someone clears the gradients between two steps, every
    update uses the sum over all batches so far: the step grows and points the wrong way. Nothing fails; the loss just
    stalls or explodes. It is as wrong to clear them outside the batch loop, or to clear those of another optimizer.

    ## Example
    ```python
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    loader = DataLoader(TensorDataset(torch.randn(64, 4), torch.randn(64, 1)), batch_size=16, shuffle=True)
    model = nn.Linear(4, 1)
    criterion = nn.MSELoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    for epoch in range(2):
        for x, y in loader:
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    loader = DataLoader(TensorDataset(torch.randn(64, 4), torch.randn(64, 1)), batch_size=16, shuffle=True)
    model = nn.Linear(4, 1)
    criterion = nn.MSELoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    for epoch in range(2):
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
    ```

    ## How the probe confirms it
    A hook on the parameters runs before gradients are added. At the first `backward()` after a step it finds the old
    gradient still there, step after step; the evidence is its size beside that of this batch's own gradient.

    ## Fix safety
    Unsafe: `optimizer.zero_grad()` is inserted before the backward pass, which changes how the model trains.

    ## When it stays silent
    When anything on the way may clear the gradients (the optimizer, the module, `p.grad = None`, a helper, a step
    closure, a call that cannot be followed), while gradients are accumulated for one step, without any step (attacks,
    saliency, Fisher information), and for `torch.autograd.grad`.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.zero_grad.html
    - https://docs.pytorch.org/docs/stable/generated/torch.Tensor.backward.html
    """

    code = "TDR101"
    name = "missing-zero-grad"
    level = Level.ERROR
    witness = "SP"
    fix = Fix.UNSAFE

    def check(self, trace: Trace) -> Iterator[Finding]:
        """The first `backward()` for each set of parameters that finds their gradients of an earlier step."""
        gradients = Gradients(trace)
        reported: set[int] = set()
        for again in gradients.adding:
            for earlier in reversed([event for event in gradients.adding if event.index < again.index]):
                if earlier.site != again.site or trace.same_iteration(earlier, again):
                    continue
                step, stale = self._stale(gradients, earlier, again)
                if step is not None and not stale <= reported:
                    reported |= stale
                    yield self._report(step, again)
                    break

    def _stale(self, gradients: Gradients, earlier: Backward, again: Backward) -> tuple[Stepped | None, frozenset[int]]:
        """The step that used the gradients of `earlier`, and whose gradients are still there for `again` to add to."""
        trace = gradients.trace
        for step in trace.between(earlier, again, Stepped):
            path = (earlier, step, again)
            if all(gradients.on_path(event, *path) for event in path):
                shared = gradients.shared(*path)
                stale = shared - gradients.may_be_cleared(shared, *path)
                explained = uncalled(trace, "zero_grad", {step.optimizer, *stale}, after=earlier, before=again)
                if stale and not explained and not gradients.out_of_sight(earlier, again, stale, *path):
                    return step, stale
        return None, frozenset()

    def _report(self, step: Stepped, again: Backward) -> Finding:
        text = "the gradients of `{loss}` are added to those of earlier steps, which nobody clears"
        clear = f"call `{owner(step.name, 'step', 'optimizer')}.zero_grad()` before the backward pass of every step"
        return self.finding(
            again.site,
            message(text, loss=owner(again.name, "backward", "loss")),
            help="set the gradients to None after every update" if step.manual else clear,
            trail=(
                Step(again.site, "gradients are computed here"),
                Step(step.site, "they are applied here, and stay where they are"),
                Step(again.site, "the next iteration adds its own to them"),
            ),
        )
