"""TDR104: gradients that no step applies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Finding, Level, Rule, Step
from torch_doctor.trace import Backward, OptimizerBuilt, Stepped, Trace
from torch_doctor_rules.gradients import Gradients
from torch_doctor_rules.precedence import uncalled
from torch_doctor_rules.wording import message, owner

if TYPE_CHECKING:
    from collections.abc import Iterator


class MissingStep(Rule):
    """Gradients are computed for parameters whose optimizer never steps.

    ## Why is this bad?
    `backward()` only fills `.grad`. Without `optimizer.step()` no parameter moves: the loss of every epoch is that of
    the initial weights. A scheduler's `step()` changes the learning rate and nothing else.

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
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
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
    After two batches of every loop the optimizer has not stepped once, and the parameters that got gradients are
    bit-identical to the initial ones.

    ## When it stays silent
    When the optimizer is built, or may be stepped, out of sight; when another optimizer or an update by hand moves the
    same parameters; outside loops; for gradients with respect to inputs.

    ## References
    - https://docs.pytorch.org/docs/stable/optim.html#taking-an-optimization-step
    - https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.step.html
    """

    code = "TDR104"
    name = "missing-step"
    level = Level.ERROR
    witness = "SP"

    def check(self, trace: Trace) -> Iterator[Finding]:
        """The first `backward()` in a loop that fills the gradients of an optimizer nobody steps."""
        gradients = Gradients(trace)
        for optimizer in trace.of(OptimizerBuilt):
            in_reach = trace.begins_outside and (not optimizer.name or "." in optimizer.name)
            if in_reach or uncalled(trace, "step", {optimizer.optimizer}):
                continue
            for backward in gradients.filling:
                waiting = gradients.family.within(optimizer.modules) & backward.modules
                waiting |= gradients.family.within(backward.modules) & optimizer.modules
                if (
                    waiting
                    and backward.index > optimizer.index
                    and backward.scope.iterations()
                    and trace.together(backward, optimizer)
                    and not self._may_move(gradients, optimizer, waiting)
                ):
                    yield self._report(optimizer, backward)
                    break

    def _may_move(self, gradients: Gradients, optimizer: OptimizerBuilt, waiting: frozenset[int]) -> bool:
        """Whether anything may update these parameters."""
        trace = gradients.trace
        return any(
            step.optimizer == optimizer.optimizer or gradients.may_concern(step, waiting) for step in trace.of(Stepped)
        ) or any(gradients.may_have_touched(event, waiting) for event in trace.events[optimizer.index + 1 :])

    def _report(self, optimizer: OptimizerBuilt, backward: Backward) -> Finding:
        loss = owner(backward.name, "backward", "loss")
        name = optimizer.name or "optimizer"
        return self.finding(
            backward.site,
            message("`{name}` never steps: the gradients of `{loss}` change no parameter", name=name, loss=loss),
            help=f"call `{name}.step()` after the backward pass",
            trail=(
                Step(optimizer.site, f"`{name}` takes the parameters here, and is never stepped"),
                Step(backward.site, "their gradients are computed here"),
            ),
        )
