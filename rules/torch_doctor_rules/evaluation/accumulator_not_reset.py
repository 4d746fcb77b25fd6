"""TDR407: a running sum is not reset between epochs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule, Step, same_place
from torch_doctor.trace import Averaged, BatchTaken, LoaderBuilt, LoopKind, Summed, claims
from torch_doctor_rules.judging.evidence import at, count, fact, numbers
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from torch_doctor.trace import Scope, Site, Trace


class AccumulatorNotReset(Rule):
    """A running loss or count is averaged in every epoch, but never reset between epochs.

    ## Why is this bad?
    The average of the second epoch includes two epochs, that of the tenth includes ten. The loss seems to grow although
    the model learns, an accuracy exceeds 100 %, and decisions that are based on them, such as the best checkpoint, are
    wrong.

    ## Example
    ```python
    total = 0.0
    for epoch in range(3):
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(epoch, total / len(loader))
    ```

    ## Use instead
    ```diff
    -total = 0.0
     for epoch in range(3):
    +    total = 0.0
         for x, y in loader:
    ```

    ## How the probe confirms it
    When the loop over batches starts for the second time, the sum still has the value from the end of the first pass.

    ## When it is not reported
    - For averages over the whole training.
    - The divisor grows along with the sum.
    - Any path through the code may reset the sum.
    - Nothing shows that the average is meant for one epoch.

    ## References
    - https://docs.pytorch.org/tutorials/beginner/introyt/trainingyt.html#per-epoch-activity
    """

    code = "TDR407"
    name = "accumulator-not-reset"
    level = Level.WARNING
    witness = "SP"
    only_confirms = True
    shown_by = "second pass over the batches"

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every sum that is averaged over one pass of a loop and holds earlier passes too."""
        if trace.run is not None:
            yield from (self._kept(each, each.site) for each in trace.of(Summed) if each.carries)
            return
        seen = set()
        for average in trace.of(Averaged):
            summed = self._outlived(trace, average)
            if summed is None or summed.started is None or summed.started in seen:
                continue
            seen.add(summed.started)
            yield self._kept(
                summed, summed.started, Step(average.site, "the sum is divided by the length of one epoch here")
            )

    def same(self, finding: Finding, seen: Finding) -> bool:
        """Whether both speak of one addition: a run does not see where a sum of plain numbers began."""
        return same_place(finding.trail[0].site, seen.trail[0].site)

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether the loop over batches began a second time."""
        return len(at(trace, finding.trail[0].site, Summed)) > 1

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """What the sum had when the batches began again."""
        begun = at(trace, finding.trail[0].site, Summed)
        for event, value in numbers(trace, claims.SUM_KEPT, *begun):
            yield fact(f"it was still {value:.6g} when the next pass over the batches started", value, "", event)
            return
        if len(begun) > 1:
            yield fact(
                f"it was reset in {count(len(begun) - 1, 'later pass', 'later passes')}", len(begun) - 1, "passes"
            )

    def _kept(self, summed: Summed, site: Site, *steps: Step) -> Finding:
        return self.finding(
            site,
            message("`{sum}` is never reset: the average of an epoch includes all earlier epochs", sum=summed.holder),
            help="reset it to zero at the start of every epoch",
            trail=[Step(summed.site, "every batch is added here"), *steps],
        )

    def _outlived(self, trace: Trace, average: Averaged) -> Summed | None:
        """The last addition of a sum with earlier passes of a loop around the average, where that is meant for one pass."""
        sums = [event for event in trace.at(*average.sums) if isinstance(event, Summed)]
        by = [event for event in trace.at(*average.by) if isinstance(event, Summed)]
        for around in average.scope.iterations():
            now = [event for event in sums if _lies(event, around) and _batch_loop_within(event, around)]
            before = [event for event in sums if _earlier(event, around)]
            per_pass = all(_lies(event, around) for event in by) if by else self._is_length(trace, average, now, around)
            if now and before and per_pass and not any(_shares_inner(average, event, around) for event in now):
                return now[-1]
        return None

    def _is_length(self, trace: Trace, average: Averaged, now: Iterable[Summed], around: Scope) -> bool:
        """Whether the divisor is the length of the loader that the sum goes through, or of its dataset."""
        loops = {scope.loop for event in now for scope in _within(event, around)}
        taken = {
            event.loader for event in trace.of(BatchTaken) if any(s.loop in loops for s in event.scope.iterations())
        }
        datasets = {event.dataset for event in trace.of(LoaderBuilt) if event.loader in taken}
        return average.length != 0 and average.length in taken | datasets


def _lies(event: Summed, around: Scope) -> bool:
    return any(scope is around for scope in event.scope.iterations())


def _earlier(event: Summed, around: Scope) -> bool:
    return any(scope.loop == around.loop and scope.number < around.number for scope in event.scope.iterations())


def _batch_loop_within(event: Summed, around: Scope) -> bool:
    """Whether it was added batch by batch within the pass."""
    return any(scope.loop_kind is LoopKind.BATCHES for scope in _within(event, around))


def _shares_inner(average: Averaged, event: Summed, around: Scope) -> bool:
    """Whether the division lies in the loop over batches itself."""
    loops = {scope.loop for scope in _within(event, around)}
    return any(scope.loop in loops for scope in _within(average, around))


def _within(event: Averaged | Summed, around: Scope) -> tuple[Scope, ...]:
    scopes = event.scope.iterations()
    return scopes[next(i for i, scope in enumerate(scopes) if scope is around) + 1 :]
