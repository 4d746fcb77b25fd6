"""TDR808: a clock that does not wait for the GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Figure, Insert
from torch_doctor.rule import Finding, Fix, Level, Rule, Step
from torch_doctor.trace import ClockRead, Forward, GaveUp, Owned, Timed
from torch_doctor_rules.judging.moves import on_gpu
from torch_doctor_rules.judging.sites import first_per_site

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Trace

WAIT = "if $torch.cuda.is_available():\n    $torch.cuda.synchronize()"


class TimingWithoutSynchronize(Rule):
    """GPU work is timed without waiting for it to finish.

    ## Why is this bad?
    CUDA operations are asynchronous: a call returns as soon as its work is queued. If you read the clock at that point, you
    measure how long it took to queue the work, not how long the work takes. Models look many times faster than they are,
    and the time is attributed to the next operation that waits for the GPU.

    ## Example
    ```python
    import time

    model = nn.Linear(4, 1).to(device).eval()
    x = torch.randn(16, 4, device=device)
    with torch.no_grad():
        start = time.perf_counter()
        model(x)
        print(time.perf_counter() - start)
    ```

    ## Use instead
    ```diff
         model(x)
    +    if device.type == "cuda":
    +        torch.cuda.synchronize()
         print(time.perf_counter() - start)
    ```

    ## Fix safety
    The fix is unsafe because the script then waits for the GPU, if there is one, before both clock reads. A training loop
    that times every step becomes slower.

    ## How the probe confirms it
    It does not: without a GPU nothing is queued, and with a GPU the time differs from run to run.

    ## When it is not reported
    - If anything between the two clock reads may wait for the GPU: `torch.cuda.synchronize()`, `.item()`, `.cpu()`, a tensor
      that is printed or used in a condition, or a call that cannot be analyzed.
    - For a loop that copies each batch to the GPU, which waits for the previous batch.
    - For models that are never moved to a GPU.
    - If a framework runs the training loop.

    ## References
    - https://docs.pytorch.org/docs/stable/notes/cuda.html#asynchronous-execution
    - https://docs.pytorch.org/docs/stable/generated/torch.cuda.synchronize.html
    """

    code = "TDR808"
    name = "timing-without-synchronize"
    level = Level.WARNING
    witness = "S"
    fix = Fix.UNSAFE
    fix_changes = frozenset({Figure.TIMES})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Yield a finding for every second clock read after GPU work that nothing waits for."""
        if any(trace.of(Timed)) and not trace.of(Owned):
            yield from first_per_site(self._reports(trace))

    def _reports(self, trace: Trace) -> Iterator[Finding]:
        moved = on_gpu(trace)
        for timed in trace.of(Timed):
            ends = [event for event in trace.at(timed.first, timed.last) if isinstance(event, ClockRead)]
            if timed.waits or len(ends) != 2:  # noqa: PLR2004 - the first and the last
                continue
            first, last = ends
            if any(trace.between(first, last, GaveUp)):
                continue
            queued = (
                each
                for each in trace.between(first, last, Forward)
                if each.module in moved and trace.implies(last, each)
            )
            around = last.scope.iterations()
            work = [each for each in queued if not timed.copies or each.scope.iterations() == around]
            if work:
                yield self.finding(
                    last.site,
                    "the clock is read while the GPU may still be computing: the measured time is too short",
                    help="call `torch.cuda.synchronize()` before reading the clock",
                    trail=(
                        Step(first.site, "the timing starts here"),
                        Step(work[-1].site, "the GPU work is queued here"),
                    ),
                    edits=[Insert(first.site, WAIT), Insert(last.site, WAIT)],
                )
