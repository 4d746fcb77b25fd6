"""TDR110: the schedule moves on before its first value was used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Figure, Move
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule, Step
from torch_doctor.trace import SchedulerStepped
from torch_doctor_rules.judging.evidence import at, count, fact
from torch_doctor_rules.judging.frames import seen_from
from torch_doctor_rules.judging.schedules import Schedules
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.subjects import SCHEDULES
from torch_doctor_rules.judging.wording import message, owner

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import SchedulerBuilt, Stepped, Trace


class SchedulerBeforeOptimizer(Rule):
    """`scheduler.step()` runs before the optimizer's first step and skips the first learning rate.

    ## Why is this bad?
    Building the scheduler already sets the learning rate of the first epoch, or of the first step. A `scheduler.step()`
    before the first `optimizer.step()` replaces that value before anything was trained with it, and the whole schedule
    runs one place ahead of what was written down: decays come one epoch early, a warm-up begins too high.

    ## Example
    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    x, y = torch.randn(64, 4), torch.randn(64, 1)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2)

    for epoch in range(6):
        scheduler.step()
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    x, y = torch.randn(64, 4), torch.randn(64, 1)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2)

    for epoch in range(6):
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
    ```

    ## How the probe confirms it
    The scheduler steps, and its optimizer has not stepped once so far and does so afterwards. A step of the optimizer
    before each of the scheduler's refutes it.

    ## When it is not reported
    For a step that gets its epoch or a metric, for `ReduceLROnPlateau`, and for a schedule that is built anew in each pass
    and told where training stands; for calls behind a condition that the
    optimizer's step does not share (`if epoch > 0: scheduler.step()` at the top of an epoch is right); for loops without
    a step of the optimizer, which replay a schedule or draw it; where the optimizer may have stepped out of sight.

    ## References
    - https://docs.pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate
    - https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.LRScheduler.html
    """

    code = "TDR110"
    name = "scheduler-before-optimizer"
    level = Level.ERROR
    witness = "SP"
    voided_by = frozenset({"rates"})
    subject = SCHEDULES
    fix = Fix.UNSAFE
    fix_changes = frozenset({Figure.UPDATES, Figure.RATES})
    needs_end = True  # that a schedule is made anew for each batch shows in the next one

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every step of a scheduler that comes before any of its optimizer, and that one follows."""
        schedules = trace.view(Schedules)
        early = ((moved, schedules.next_step(moved)) for moved in trace.of(SchedulerStepped))
        yield from first_per_site(
            self._report(schedules.built(moved), moved, step)
            for moved, step in early
            if step is not None and not schedules.may_have_begun(moved)
        )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether the optimizer had stepped before each of these steps of its scheduler."""
        steps = at(trace, finding.site, SchedulerStepped)
        if all(trace.view(Schedules).steps_before(moved) for moved in steps):
            return bool(steps)
        return "the optimizer had not stepped yet, and the probe run had no step of it that follows"

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How often the optimizer had stepped before the scheduler first did."""
        for moved in at(trace, finding.site, SchedulerStepped)[:1]:
            often = len(trace.view(Schedules).steps_before(moved))
            yield fact(
                f"the optimizer had stepped {count(often, 'time')} when the scheduler did", often, "steps", moved
            )

    def _report(self, built: SchedulerBuilt | None, moved: SchedulerStepped, step: Stepped) -> Finding:
        text = "`{scheduler}.step()` runs before `{optimizer}.step()`: the first learning rate is skipped"
        names = {
            "scheduler": owner(moved.name, "step", "the scheduler"),
            "optimizer": owner(step.name, "step", "the optimizer"),
        }
        return self.finding(
            moved.site,
            message(text, **names),
            help="step the scheduler after the optimizer has stepped",
            edits=[Move(moved.site, to, after=True)] if (to := seen_from(moved, step)) is not None else [],
            trail=(
                *([Step(built.site, "the schedule's first learning rate is set here")] if built else []),
                Step(moved.site, "it is replaced here"),
                Step(step.site, "the optimizer steps for the first time only here"),
            ),
        )
