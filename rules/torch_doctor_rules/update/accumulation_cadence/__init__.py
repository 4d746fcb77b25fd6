"""TDR128: an optimizer steps on the wrong passes of its windows, or these are cleared before their step."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule, Step, same_place
from torch_doctor.trace import Backward, Stepped
from torch_doctor_rules.judging.cadence import Cadence
from torch_doctor_rules.judging.evidence import at, count, fact
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message, owner
from torch_doctor_rules.update.accumulation_cadence.out_of_step import AGAIN, CLEARED, DIVIDED, INVERTED, NEVER, off

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Trace
    from torch_doctor_rules.judging.ledgers import Ledger
    from torch_doctor_rules.update.accumulation_cadence.out_of_step import Off

SAYS = {
    INVERTED: "`{optimizer}` steps after all batches but every k-th: the test is inverted",
    NEVER: "`{optimizer}` never steps, because this test never holds",
    CLEARED: "gradients of most batches are cleared before `{optimizer}.step()` applies them",
    AGAIN: "`{optimizer}` steps after every batch, and only every k-th clears: gradients are applied again",
    DIVIDED: "`{loss}` is divided by the batches so far, not by those of a window: early ones weigh more",
}
HELPS = {
    INVERTED: "step after the last batch of each window, and after no other",
    NEVER: "add one to the counter after every batch, and reset it only after the step",
    CLEARED: "clear the gradients only after the step",
    AGAIN: "step only when the window is complete, right before the gradients are cleared",
    DIVIDED: "divide the loss by the number of batches per step",
}
ENOUGH = 3
"""Steps in a run after which the windows between them are known."""


class AccumulationCadence(Rule):
    """The optimizer steps on the wrong passes of its accumulation window, or the window is cleared before its step.

    ## Why is this bad?
    Gradient accumulation replaces one large batch by K small ones: K backward passes, one step, one `zero_grad()`. If
    the test that decides when to step is inverted (`if i % k:`), nearly every small batch is a step of its own, with a
    loss that was divided by K. If its counter never gets there, nothing is trained. If `zero_grad()` runs for every
    small batch, the step applies only the last of them, and the others were computed for nothing. If `step()` runs for
    every small batch, and only `zero_grad()` waits for the end of the window, the first gradients are applied up to K
    times. A loss that is divided by the number of batches so far, and not by K, gives late batches less weight.

    ## Example
    ```python
    loader = DataLoader(TensorDataset(torch.randn(96, 4), torch.randn(96, 1)), batch_size=8, shuffle=True)

    for i, (x, y) in enumerate(loader):
        loss = nn.functional.mse_loss(model(x), y) / 4
        loss.backward()
        if i % 4:
            optimizer.step()
            optimizer.zero_grad()
    ```

    ## Use instead
    ```diff
         loss.backward()
    -    if i % 4:
    +    if (i + 1) % 4 == 0:
             optimizer.step()
    ```

    ## How the probe confirms it
    The probe runs at least two windows, and records for each step how many backward passes it applies, how many were
    cleared before any step applied them, and how many had been applied before. The finding is confirmed if all passes
    but every K-th step, if part of each window is cleared before its step, if gradients are applied again until the
    window ends, if the loss of each batch is divided by one more than that of the batch before, or if the optimizer
    takes no step. It is refuted if every step applies its own window.

    ## When it is not reported
    - Anything but loop counters, lengths and settings decides when to step, or unresolved code may step or clear.
    - The windows have the right length but start one batch early or late (`if i % k == 0`).
    - The window has one batch by default (`--accumulate 1`), or two, for which `i % 2` is right.
    - Several optimizers share the backward pass, so that clearing the gradients of one may be intended.
    - Another backward pass, right before the step, computes what it applies, as for a generator that is updated after
      every fifth batch of its critic.
    - The script reads or changes the gradients between the backward pass and the step.
    - The optimizer steps from some batch on, or up to one.

    ## References
    - https://docs.pytorch.org/docs/stable/notes/amp_examples.html#gradient-accumulation
    - https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.zero_grad.html
    """

    code = "TDR128"
    name = "accumulation-cadence"
    level = Level.ERROR
    witness = "SP"
    fix = Fix.NONE
    only_confirms = True  # that nothing else decides when to step leaves no event in a run

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every optimizer that is out of step with its windows."""
        yield from first_per_site(map(self._report, off(trace)))

    def same(self, finding: Finding, seen: Finding) -> bool:
        """Return whether both say the same of the step, or the backward pass, of one line: a run has no record of conditions."""
        return finding.help == seen.help and same_place(finding.trail[-1].site, seen.trail[-1].site)

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether the run had several windows, or steps where the source has none."""
        if finding.help == HELPS[NEVER]:
            if any(at(trace, step.site, Stepped) for step in finding.trail):
                return True
            came = bool(at(trace, finding.trail[-1].site, Backward))
            return came and "the probe run was too short to show that no step follows"
        found = self._ledger(trace, finding)
        if found is None:
            return False
        passes = found.passes[:-1]  # the run may have ended within the last one
        stepped = [each.step is not None for each in passes]
        idle = (not (one.step or other.step) and one.epoch == other.epoch for one, other in pairwise(passes))
        right = {
            CLEARED: not any(each.lost for each in found.passes),
            INVERTED: any(idle),
            AGAIN: not any(each.again for each in found.passes),
            DIVIDED: False,  # another number may divide it, out of sight of the graph
        }
        how = next(how for how, text in HELPS.items() if text == finding.help)
        return (sum(stepped) >= ENOUGH and right[how]) or "the probe run had fewer than two windows"

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How many passes the steps apply, and what happens to the others."""
        found = self._ledger(trace, finding)
        if found is None:
            return
        steps = sum(each.step is not None for each in found.passes)
        lost = sum(len(each.lost) for each in found.passes)
        again = sum(bool(each.again) for each in found.passes)
        text = f"{count(len(found.passes), 'batch', 'batches')} with a backward pass, {count(steps, 'step')}"
        yield fact(text, steps, "steps")
        if lost:
            yield fact(
                f"the gradients of {count(lost, 'batch', 'batches')} are cleared before any step", lost, "batches"
            )
        if again:
            yield fact(f"{count(again, 'step')} apply gradients that an earlier step has applied", again, "steps")

    def _ledger(self, trace: Trace, finding: Finding) -> Ledger | None:
        last = finding.trail[-1].site
        events: list[Stepped | Backward] = [*at(trace, last, Stepped), *at(trace, last, Backward)]
        return trace.view(Cadence).observed(events[0].modules) if events else None

    def _report(self, found: Off) -> Finding:
        trail = [Step(found.backward.site, "every batch adds its gradients here")]
        if found.cleared is not None:
            trail.append(Step(found.cleared.site, "gradients are cleared here"))
        if found.step is not None:
            trail.append(Step(found.step.site, "the step"))
        if found.how == NEVER:
            trail.reverse()
        names = {"optimizer": owner(found.step.name if found.step is not None else "", "step", "the optimizer")}
        if found.how == DIVIDED:
            names = {"loss": owner(found.backward.name, "backward", "the loss")}
        return self.finding(found.place, message(SAYS[found.how], **names), help=HELPS[found.how], trail=trail)
