"""TDR132: a scheduler is created and never steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule, Step
from torch_doctor.trace import ScheduleRan, SchedulerBuilt, ScheduleWritten
from torch_doctor_rules.judging.evidence import at, count, fact
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.subjects import SCHEDULES
from torch_doctor_rules.judging.wording import message
from torch_doctor_rules.update.scheduler_never_stepped.idle import is_idle, is_shown, updates

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Stepped, Trace


class SchedulerNeverStepped(Rule):
    """A learning rate scheduler is created, but the script never steps it.

    ## Why is this bad?
    A scheduler changes the learning rate only in `step()`. Without it, training goes on with the first learning rate of
    the schedule. `StepLR` and `CosineAnnealingLR` never decay. `OneCycleLR` stays at a 25th of `max_lr`, where its
    warm-up begins, and a linear warm-up from transformers stays at a learning rate of 0, so that nothing is learned.

    ## Example
    ```python
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)

    for epoch in range(6):
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
    ```

    ## Use instead
    ```diff
             optimizer.step()
    +    scheduler.step()
    ```

    ## How the probe confirms it
    The optimizer stepped in two passes of the training loop, the scheduler did not step, and the learning rate stayed
    the same. A step of the scheduler refutes the finding.

    ## When it is not reported
    - The scheduler, or an object that has it, is passed to unresolved code, or a framework runs the training loop.
    - Another scheduler of the same optimizer steps, such as a `SequentialLR` that contains this one.
    - The files of the script call a `step()` that was not reached or whose object is unknown: it may be the scheduler's.
    - One of these files sets a learning rate by hand (`group["lr"] = …`).
    - The training loop is in code that receives the scheduler from unknown callers, or was not analyzed to its end.
    - The scheduler is created in every pass of the training loop.
    - The optimizer does not step in a loop, or a test runs it.

    ## References
    - https://docs.pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate
    - https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.OneCycleLR.html
    """

    code = "TDR132"
    name = "scheduler-never-stepped"
    level = Level.WARNING
    witness = "SP"
    voided_by = frozenset({"rates"})
    subject = SCHEDULES
    only_confirms = True

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Yield every scheduler whose optimizer steps in a loop while nothing can step the scheduler."""
        built = {event.scheduler: event for event in trace.of(SchedulerBuilt)}
        told: dict[int, str] = {
            each.scheduler: each.first for each in trace.of(ScheduleWritten) if is_idle(trace, each)
        }
        told |= {each.scheduler: f"{each.rate:g}" for each in trace.of(ScheduleRan) if each.stayed and not each.steps}
        found = [(built[number], first, updates(trace, built[number])) for number, first in told.items() if first]
        yield from first_per_site(
            self._report(event, first, steps[0]) for event, first, steps in found if is_shown(trace, event, steps)
        )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Return whether a scheduler that was created here stepped."""
        ran = at(trace, finding.site, ScheduleRan)
        if not ran or any(each.steps for each in ran):
            return bool(ran)
        if not all(each.stayed for each in ran):
            return "something else changed the learning rate in the probe run"
        return "the probe run ended before the second pass of the training loop"

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How often the optimizer and the scheduler stepped, and the learning rate at the end."""
        ran = max(at(trace, finding.site, ScheduleRan), key=lambda each: (each.steps, each.updates), default=None)
        if ran is not None and ran.steps:
            text = f"the optimizer took {count(ran.updates, 'step')}, the scheduler {ran.steps:,}"
            yield fact(text, ran.steps, "steps", ran)
        elif ran is not None and ran.updates:
            text = f"the optimizer took {count(ran.updates, 'step')}, the scheduler none"
            yield fact(text, ran.updates, "steps", ran)
            if ran.stayed:
                yield fact(f"the learning rate stayed at {ran.rate:g}", ran.rate, event=ran)

    def _report(self, built: SchedulerBuilt, first: str, used: Stepped) -> Finding:
        text = f"nothing steps this `{{scheduler}}`: the learning rate stays at {first}"
        return self.finding(
            built.site,
            message(text, scheduler=built.class_name.rpartition(".")[2]),
            help="call `step()` of the scheduler after each epoch, or after each optimizer step if it counts those",
            trail=[
                Step(built.site, "the scheduler is created here"),
                Step(used.site, "the optimizer steps here, and the scheduler nowhere"),
            ],
        )
