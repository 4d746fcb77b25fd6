"""TDR122: an optimizer is built anew again and again, and forgets what it learned about the gradients."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule, Step
from torch_doctor.trace import OptimizerBuilt, SchedulerBuilt
from torch_doctor_rules.judging.evidence import at, count, fact
from torch_doctor_rules.judging.rebuilding import Rebuilding
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message, owner

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Trace
    from torch_doctor_rules.judging.rebuilding import Rebuilt


class OptimizerRebuiltInLoop(Rule):
    """The optimizer, or its scheduler, is built anew in every epoch or batch: momentum and step counts are lost.

    ## Why is this bad?
    Adam, and SGD with momentum, average the gradients of many steps. A new optimizer begins with empty averages: the
    first steps of every epoch are badly scaled, and one that is built for each batch never has an average at all. A
    scheduler that is built for each step or epoch stays at its first learning rate.

    ## Example
    ```python
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    loader = DataLoader(TensorDataset(torch.randn(64, 4), torch.randn(64, 1)), batch_size=16, shuffle=True)
    model = nn.Linear(4, 1)

    for epoch in range(10):
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
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
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    for epoch in range(10):
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
    ```

    ## How the probe confirms it
    The line builds an optimizer over the same parameters in two passes of the loop, and the first of them has stepped.
    Optimizers over other parameters each time refute it.

    ## When it is not reported
    For SGD without momentum, which has nothing to lose; for a model that is built, copied, reset or loaded in the same
    pass; for stages with epochs of their own; behind a condition that the step does not share; where the state of the
    one before is passed on with `load_state_dict`; for a scheduler that is told each time where training stands.

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
            return all(others) or "it was built again, but perhaps on purpose"
        ran = bool(built) or bool(at(trace, finding.site, SchedulerBuilt))
        return "the run came here only once" if ran else False

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How often it was built, and for how many models."""
        built = at(trace, finding.site, OptimizerBuilt)
        schedulers = at(trace, finding.site, SchedulerBuilt)
        if built:
            models = len({event.modules for event in built})
            text = f"built {count(len(built), 'time')}, for {count(models, 'set')} of parameters"
            yield fact(text, len(built), "times", built[0])
        elif schedulers:
            yield fact(f"built {count(len(schedulers), 'time')}", len(schedulers), "times", schedulers[0])

    def _report(self, found: Rebuilt) -> Finding:
        built, used, scope = found
        what = "optimizer" if isinstance(built, OptimizerBuilt) else "scheduler"
        lost = "momentum and step counts are lost" if what == "optimizer" else "it never leaves its first rate"
        name = owner(used.name, "step", "")
        return self.finding(
            built.site,
            message(f"the {what}{' `{name}`' * bool(name)} is built anew in every pass of the loop: {lost}", name=name),
            help=f"build the {what} before the loop",
            trail=(
                Step(scope.site, "every pass of this loop builds one"),
                Step(used.site, "it steps here"),
            ),
        )
