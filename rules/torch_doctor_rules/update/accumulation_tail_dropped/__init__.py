"""TDR107: the batches after the last full window of an accumulation are never stepped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule, Step, same_place
from torch_doctor_rules.judging.evidence import count, fact
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.subjects import ACCUMULATION
from torch_doctor_rules.judging.wording import message, owner
from torch_doctor_rules.update.accumulation_tail_dropped.accumulation_tails import Tails

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Trace
    from torch_doctor_rules.update.accumulation_tail_dropped.accumulation_tails import Tail


class AccumulationTailDropped(Rule):
    """The last, incomplete accumulation window is never stepped: its gradients are lost or leak into the next epoch.

    ## Why is this bad?
    With one step every K batches, the batches after the last multiple of K leave gradients that no step applies. If
    they are cleared before the next epoch, those batches train nothing. If they are not, they are added to the first
    window of the next epoch: that window is too long, and part of its gradients was computed with older weights.

    ## Example
    ```python
    loader = DataLoader(TensorDataset(torch.randn(80, 4), torch.randn(80, 1)), batch_size=8, shuffle=True)

    for i, (x, y) in enumerate(loader):
        loss = nn.functional.mse_loss(model(x), y) / 4
        loss.backward()
        if (i + 1) % 4 == 0:
            optimizer.step()
            optimizer.zero_grad()
    ```

    ## Use instead
    ```diff
         loss.backward()
    -    if (i + 1) % 4 == 0:
    +    if (i + 1) % 4 == 0 or i + 1 == len(loader):
             optimizer.step()
    ```

    ## How the probe confirms it
    Two windows of the same length K end in one pass through the loader, and the loader's real length is not a multiple
    of K. If the loader is too short for two windows, the probe runs one pass to its end, and the next pass starts
    a new window. If no batches are left over, the finding is refuted. A missing step after a loop that the probe ended
    early proves nothing.

    ## When it is not reported
    - The condition does more than select every K-th batch.
    - A counter continues from epoch to epoch, and the batches of all epochs fill the last window, or their number is not
      known.
    - Something else may step in the loop, or after it before new gradients are computed. This includes unresolved code
      that receives the optimizer.
    - The length of the loader is a known multiple of K, or unresolved code determines it.
    - The batches come from several loaders at once, or from loops nested in the batch loop.

    A loader that an unknown caller passes in may have any length, so its loop is reported unless the loop may end
    early. `drop_last=True` does not help: it drops the samples that do not fill a batch, not the batches that do not
    fill a window.

    ## References
    - https://docs.pytorch.org/docs/stable/notes/amp_examples.html#gradient-accumulation
    - https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.DataLoader
    """

    code = "TDR107"
    name = "accumulation-tail-dropped"
    level = Level.WARNING
    witness = "SP"
    yields_to = frozenset({"TDR128"})
    fix = Fix.NONE
    only_confirms = True
    voided_by = frozenset({"values", "files", "arguments"})
    subject = ACCUMULATION

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every test that ends windows and leaves out the last."""
        tails = Tails(trace)
        found = (tail for tail in tails.seen() if tail.left) if trace.observed else tails.planned()
        yield from first_per_site(self._report(tail) for tail in found)

    def same(self, finding: Finding, seen: Finding) -> bool:
        """Return whether both are about the step of one line: a run has no record of conditions."""
        return same_place(finding.trail[-1].site, seen.trail[-1].site)

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether nothing was left over in the run."""
        tails = self._at(trace, finding)
        if tails:
            return all(not tail.left for tail in tails)
        return "the probe run had no second window of a loader of known length"

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How long the windows and the loader are."""
        for tail in self._at(trace, finding)[:1]:
            batches = (tail.loader.batches if tail.loader is not None else None) or 0
            yield fact(
                f"one step applies {count(tail.window.length, 'batch', 'batches')}", tail.window.length, "batches"
            )
            text = f"the loader gives {count(batches, 'batch', 'batches')}: {tail.left:,} are left over"
            yield fact(text, tail.left, "batches", tail.loader)

    def _at(self, trace: Trace, finding: Finding) -> list[Tail]:
        return [tail for tail in Tails(trace).seen() if same_place(finding.trail[-1].site, tail.window.step.site)]

    def _report(self, tail: Tail) -> Finding:
        optimizer = owner(tail.window.step.name, "step", "the optimizer")
        return self.finding(
            tail.guard,
            message(
                "`{optimizer}` makes no step for the last, incomplete accumulation window",
                optimizer=optimizer,
            ),
            help="also step after the last batch",
            trail=(
                Step(tail.window.backward.site, "every batch adds its gradients here"),
                Step(tail.window.step.site, "only full windows are applied here"),
            ),
        )
