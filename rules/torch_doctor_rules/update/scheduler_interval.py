"""TDR123: a schedule counts epochs but steps every batch, or counts batches but steps every epoch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule, Step
from torch_doctor.trace import SchedulerStepped
from torch_doctor_rules.judging.evidence import count, fact, short
from torch_doctor_rules.judging.schedules import Schedules
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.subjects import SCHEDULES
from torch_doctor_rules.judging.wording import message, owner, sentence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Trace, Tri
    from torch_doctor_rules.judging.schedules import Moved

HALF, LONGEST, MANY = 0.5, 100, 10
"""What falls to the half or less within at most so many steps is used up within a few epochs of so many batches."""


class SchedulerInterval(Rule):
    """A scheduler configured in epochs steps every batch, or one configured in batches steps every epoch.

    ## Why is this bad?
    A scheduler counts its `step()` calls and does not know what they stand for. A cosine schedule with `T_max=epochs`
    that steps every batch falls and rises again before the first epoch is over, and oscillates for the rest of
    training. `StepLR(optimizer, 10)` divides the learning rate by ten until nothing is left of it. A cycle of
    `epochs * len(loader)` batches that steps once per epoch never leaves its warm-up.

    ## Example
    ```python
    epochs = 20
    loader = DataLoader(TensorDataset(torch.randn(96, 4), torch.randn(96, 1)), batch_size=4, shuffle=True)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs)

    for epoch in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            scheduler.step()
    ```

    ## Use instead
    ```diff
             optimizer.step()
    -        scheduler.step()
    +    scheduler.step()
    ```

    ## How the probe confirms it
    The scheduler steps with every update, and the schedule is over before the first epoch is, or is as long as the loop
    over the epochs. Or it steps once per epoch, and the length of the schedule is a multiple of the batches per epoch. For
    `ReduceLROnPlateau`, successive batches pass it the same score. The finding is refuted by an epoch of one batch, by a
    score that changes, or, for a scheduler that steps once per epoch, by any other length.

    ## When it is not reported
    - The numbers do not show what is counted: a bare `T_max=100`, an `ExponentialLR`, a `LambdaLR` of literal numbers,
      `StepLR(optimizer, 3000)` in the batch loop, or steps that are far apart within a long loop or a small epoch.
    - The call passes an epoch (`step(epoch + i / len(loader))`), or is behind a condition on the batch number or a
      setting.
    - The scheduler steps in several places, or correctly in one of them.
    - The loop that bounds the schedule is the loop over the updates (`for step in range(max_steps)`).
    - An epoch is one batch, or unresolved code determines its number of batches.
    - A framework steps the scheduler, unless it is Lightning by an `interval` that the source shows.

    ## References
    - https://docs.pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate
    - https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.OneCycleLR.html
    """

    code = "TDR123"
    name = "scheduler-interval"
    level = Level.ERROR
    witness = "SP"
    voided_by = frozenset({"rates"})
    subject = SCHEDULES
    only_confirms = True

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every step of a scheduler that counts in something else wherever it steps."""
        schedules = trace.view(Schedules)
        moves = [(step, schedules.moved(step)) for step in trace.of(SchedulerStepped)]
        right = {step.scheduler for step, moved in moves if moved is None or not _wrong(trace, moved)}
        wrong = [moved for step, moved in moves if moved is not None and step.scheduler not in right]
        yield from first_per_site(self._report(schedules, moved) for moved in wrong)

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether the probe run knows all numbers, and they belong together."""
        moves = trace.view(Schedules).moved_at(finding.site)
        if all(moved is not None and _wrong(trace, moved) is False for moved in moves):
            return bool(moves)
        return "the numbers of the probe run do not show what the schedule counts"

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How long the schedule is, and how long an epoch."""
        moves = trace.view(Schedules).moved_at(finding.site)
        for moved in [each for each in moves if each is not None][-1:]:
            often = f"every {moved.taken}" if moved.every else "once per epoch"
            if moved.stale is not None and moved.step.metric is not None:
                again = "each time" if moved.stale else "last, after other scores"
                text = f"it steps {often} and gets the score {short(moved.step.metric)} {again}"
                yield fact(text, moved.step.metric, event=moved.step)
            if moved.length.number is not None and moved.batches is not None:
                epoch = count(moved.batches, "batch", "batches")
                text = (
                    f"it steps {often}, an epoch has {epoch}, and the schedule has {count(moved.length.number, 'step')}"
                )
                yield fact(text, moved.length.number, "steps", moved.step)

    def _report(self, schedules: Schedules, moved: Moved) -> Finding:
        what, other, speed = (moved.taken, "epochs", "fast") if moved.every else ("epoch", "batches", "slow")
        if moved.every and moved.counts_all:
            other, speed = "batches", "slow"
        text = f"`{{scheduler}}` steps every {what}, but `{{length}}` counts {other}: the schedule is too {speed}"
        if moved.stale:
            text = "`{scheduler}` steps every batch with the same score, so its patience counts batches"
        name = owner(moved.step.name, "step", "the scheduler")
        when = "epoch, after the batch loop" if moved.every else "batch, after the optimizer step"
        help_ = sentence(f"call `{{name}}.step()` once per {when}", name=name)
        if moved.every and moved.counts_all:
            by = "divide by the batches of a window" if moved.step.name else "`trainer.estimated_stepping_batches`"
            help_ = f"count the updates: {by}"
        elif not moved.step.name:
            help_ = f'return it from `configure_optimizers` with `"interval": "{"epoch" if moved.every else "step"}"`'
        return self.finding(
            schedules.place(moved.step),
            message(text, scheduler=name, length=moved.length.words()),
            help=help_,
            trail=[
                Step(moved.built.site, "the scheduler is created here"),
                Step(moved.step.site, f"it steps every {what}"),
            ],
        )


def _wrong(trace: Trace, moved: Moved) -> Tri:
    """Whether a schedule counts in something else than it steps in; None where the numbers do not tell."""
    number, batches = moved.length.number, moved.updates
    if batches == 1:
        return False
    if moved.step.explicit:
        return moved.every and moved.stale
    if not trace.observed:
        return _counts_epochs(moved) or moved.counts_all if moved.every else moved.counts_batches
    if not number or not batches:
        return None
    if moved.every:
        return number < batches or _counts_epochs(moved) or moved.counts_all or None
    return number % batches == 0 or moved.counts_shortened or (None if moved.shortened else False)


def _counts_epochs(moved: Moved) -> bool:
    """Whether a schedule surely is as long as the loop over the epochs, or used up within a few of them."""
    number, batches = moved.length.number or 0, moved.updates
    if any(moved.length.is_named_like(each) and moved.length.equals(each) for each in moved.passes):
        return not moved.length.batches
    if moved.length.batches or (batches and number and number % batches == 0):
        return False
    if moved.falls is None:
        return any(moved.length.equals(each) for each in moved.passes)
    fewest = min((each.number for each in moved.passes if each.number is not None), default=0)
    return moved.falls <= HALF and 1 < number <= min(fewest, LONGEST) and (batches or MANY) >= MANY
