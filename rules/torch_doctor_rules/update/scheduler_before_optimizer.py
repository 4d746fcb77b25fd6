"""TDR110: the scheduler steps before its first learning rate is used."""

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
from torch_doctor_rules.judging.wording import message, owner, sentence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import SchedulerBuilt, Stepped, Trace


class SchedulerBeforeOptimizer(Rule):
    """`scheduler.step()` runs before the optimizer's first step and skips the first learning rate.

    ## Why is this bad?
    Creating the scheduler already sets the learning rate of the first epoch or step. A `scheduler.step()` before the
    first `optimizer.step()` replaces that value before it is used, and the entire schedule runs one position early:
    decays come one epoch too soon, and a warm-up starts too high.

    ## Example
    ```python
    x, y = torch.randn(64, 4), torch.randn(64, 1)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2)

    for epoch in range(6):
        scheduler.step()
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Use instead
    ```diff
     for epoch in range(6):
    -    scheduler.step()
         loss = nn.functional.mse_loss(model(x), y)
    ...
         optimizer.step()
    +    scheduler.step()
    ```

    ## How the probe confirms it
    The scheduler steps before the first step of its optimizer, and the optimizer steps afterwards. An optimizer step
    before every scheduler step refutes the finding.

    ## When it is not reported
    - The call passes an epoch or a metric, or the scheduler is `ReduceLROnPlateau`.
    - The scheduler is created again in each pass and receives the current position of training.
    - The call is behind a condition that the optimizer's step does not share. (`if epoch > 0: scheduler.step()` at the
      start of an epoch is correct.)
    - The loop has no optimizer step: it replays or plots a schedule.
    - The optimizer may have stepped in unresolved code.
    - The scheduler is of a class that torch does not have, such as that of a fork.

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
        return "the optimizer had not stepped yet, and did not step afterwards in the probe run"

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How often the optimizer had stepped before the scheduler first did."""
        for moved in at(trace, finding.site, SchedulerStepped)[:1]:
            often = len(trace.view(Schedules).steps_before(moved))
            yield fact(
                f"the optimizer had stepped {count(often, 'time')} before the scheduler did", often, "steps", moved
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
            help=sentence("call `{scheduler}.step()` after `{optimizer}.step()`", **names),
            edits=[Move(moved.site, to, after=True)] if (to := seen_from(moved, step)) is not None else [],
            trail=(
                *([Step(built.site, "the schedule's first learning rate is set here")] if built else []),
                Step(moved.site, "it is replaced here"),
                Step(step.site, "the optimizer takes its first step only here"),
            ),
        )
