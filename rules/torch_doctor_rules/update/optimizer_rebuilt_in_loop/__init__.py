"""TDR122: an optimizer is created again and again, and loses its state."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule, Step
from torch_doctor.trace import OptimizerBuilt, SchedulerBuilt
from torch_doctor_rules.judging.evidence import at, count, fact
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message, owner
from torch_doctor_rules.update.optimizer_rebuilt_in_loop.rebuilding import Rebuilding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Trace
    from torch_doctor_rules.update.optimizer_rebuilt_in_loop.rebuilding import Rebuilt


class OptimizerRebuiltInLoop(Rule):
    """The optimizer or its scheduler is created again in every epoch or batch, so momentum and step counts are lost.

    ## Why is this bad?
    Adam, and SGD with momentum, average the gradients of many steps. A new optimizer starts with empty averages: the
    first steps of every epoch are badly scaled, and an optimizer that is created for each batch never has an average
    at all. A scheduler that is created for each step or epoch never leaves its first learning rate.

    ## Example
    ```python
    for epoch in range(10):
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
    ```

    ## Use instead
    ```diff
    +optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    +
     for epoch in range(10):
    -    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
         for x, y in loader:
    ```

    ## How the probe confirms it
    The line creates an optimizer over the same parameters in two iterations of the loop, and the first optimizer has
    stepped. Optimizers over different parameters each time refute the finding.

    ## When it is not reported
    - The optimizer is SGD without momentum, which has no state to lose.
    - The model is created, copied, reset or loaded in the same iteration.
    - The loop is over training stages, each with its own epochs.
    - The optimizer is created under a condition that the step does not share.
    - `load_state_dict` passes on the state of the previous optimizer.
    - The scheduler receives the current position of training each time, or multiplies the learning rate that it finds.

    ## References
    - https://docs.pytorch.org/docs/stable/optim.html#constructing-it
    - https://docs.pytorch.org/docs/stable/generated/torch.optim.Adam.html
    """

    code = "TDR122"
    name = "optimizer-rebuilt-in-loop"
    level = Level.WARNING
    witness = "SP"

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every construction that repeats over the same parameters while they are trained."""
        yield from first_per_site(self._report(found) for found in Rebuilding(trace).found())

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether the line ran again, and each time for other parameters."""
        built = at(trace, finding.site, OptimizerBuilt)
        others = [not (first.modules & last.modules) for first, last in pairwise(built)]
        if others:
            return all(others) or "it was created again, but possibly on purpose"
        ran = bool(built) or bool(at(trace, finding.site, SchedulerBuilt))
        return "the probe run reached this line only once" if ran else False

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How often it was built, and for how many models."""
        built = at(trace, finding.site, OptimizerBuilt)
        schedulers = at(trace, finding.site, SchedulerBuilt)
        if built:
            models = len({event.modules for event in built})
            text = f"created {count(len(built), 'time')}, for {count(models, 'set')} of parameters"
            yield fact(text, len(built), "times", built[0])
        elif schedulers:
            yield fact(f"created {count(len(schedulers), 'time')}", len(schedulers), "times", schedulers[0])

    def _report(self, found: Rebuilt) -> Finding:
        built, used, scope = found
        what = "optimizer" if isinstance(built, OptimizerBuilt) else "scheduler"
        lost = "momentum and step counts are lost" if what == "optimizer" else "the learning rate never changes"
        name = owner(used.name, "step", "")
        return self.finding(
            built.site,
            message(f"the {what}{' `{name}`' * bool(name)} is created again in every iteration: {lost}", name=name),
            help=f"create the {what} before the loop",
            trail=(
                Step(scope.site, "every iteration of this loop creates one"),
                Step(used.site, "it steps here"),
            ),
        )
