"""TDR905: the CPU waits for the GPU at every step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule, Step
from torch_doctor.trace import Backward, Escaped, FiniteChecked, Forward, LoopKind, Scope, Source, Stepped, ValueRead
from torch_doctor_rules.judging.evidence import at, count, fact
from torch_doctor_rules.judging.gradients import fills
from torch_doctor_rules.judging.moves import on_gpu
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Site, Trace


class SyncEveryStep(Rule):
    """Every step of the training loop waits for the GPU, because it reads a value from it.

    ## Why is this bad?
    The CPU queues work for the GPU and runs ahead of it, so that the next batch is ready when the GPU is. `.item()`,
    `.cpu()` or printing a tensor needs a value that is not there yet: the CPU waits until all queued work is done, and
    then the GPU waits for the CPU. Small models lose a large part of their speed this way.

    ## Example
    ```python
    model = nn.Linear(4, 1).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    total = 0.0
    for x, y in loader:
        loss = nn.functional.mse_loss(model(x.cuda()), y.cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(total / len(loader))
    ```

    ## Use instead
    ```diff
     optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    -total = 0.0
    +total = torch.zeros((), device="cuda")
     for x, y in loader:
    ...
         optimizer.step()
    -    total += loss.item()
    -print(total / len(loader))
    +    total += loss.detach()
    +print(total.item() / len(loader))
    ```

    ## How the probe confirms it
    The value is read in a loop that trains a model on a GPU. The probe may substitute the CPU for the GPU.

    ## When it is not reported
    - The value is read only every few steps, or after the loop.
    - The step is tested for NaN or Inf, which needs the value at once.
    - Each step uses all the data, so that it is an epoch.
    - The loop evaluates.
    - The value does not come from the forward pass that is trained, such as the actions of an agent.
    - Nothing shows that the model is on a GPU.

    Of several reads in one loop, the first is reported.

    ## References
    - https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html#avoid-unnecessary-cpu-gpu-synchronization
    - https://docs.pytorch.org/docs/stable/notes/cuda.html#asynchronous-execution
    """

    code = "TDR905"
    name = "sync-every-step"
    level = Level.ADVICE
    witness = "SP"
    only_confirms = True

    def check(self, trace: Trace) -> Iterator[Finding]:
        """The first read in every loop that trains."""
        loops: set[Site] = set()
        for read, batch in Reads(trace).at_every_step() if trace.of(ValueRead) else ():
            if batch.site not in loops:
                loops.add(batch.site)
                yield self.finding(
                    read.site,
                    message("`{name}` makes the CPU wait for the GPU at every step", name=read.name),
                    help="accumulate on the GPU with `.detach()`, and read the value every hundred steps or after the loop",
                    trail=[Step(batch.site, "in every iteration of this loop")],
                )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Return whether the value was read from a tensor on the CPU, although there is a GPU."""
        reads = at(trace, finding.site, ValueRead)
        if not reads:
            return False
        if all(read.on_gpu is False for read in reads):
            return True
        return (
            "the run does not show that the value is read at every step"
            if on_gpu(trace)
            else "nothing is on a GPU here"
        )

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How often the number was read."""
        times = len(at(trace, finding.site, ValueRead))
        yield fact(f"read {count(times, 'time')} in the executed steps", times, "times")


class Reads:
    """The reads of one trace, and the loops that train on a GPU."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self._moved = on_gpu(trace)
        escaped = [each for each in trace.of(Escaped) if each.optimizers]
        self._stepped = {scope.loop for step in (*trace.of(Stepped), *escaped) for scope in step.scope.iterations()}
        tested = {scope for event in trace.of(FiniteChecked) for scope in event.scope.iterations()}
        self._passes: dict[Scope, list[Backward]] = {}
        last: dict[int, int] = {}
        for backward in trace.of(Backward):
            scopes = backward.scope.iterations()
            if scopes and fills(backward) and self._over_batches(scopes[-1], backward):
                self._passes.setdefault(scopes[-1], []).append(backward)
                last[scopes[-1].loop] = scopes[-1].number
        self._late = {
            batch for batch in self._passes if batch not in tested and (batch.number > 1 or last[batch.loop] == 1)
        }

    def at_every_step(self) -> Iterator[tuple[ValueRead, Scope]]:
        """Yield the reads of values that are trained on a GPU, each with its iteration of the loop.

        Reads in the first iteration alone do not count, nor in a loop that checks for NaN or Inf.
        """
        for read in self.trace.of(ValueRead):
            for batch in read.scope.iterations():
                trained = self._passes[batch] if batch in self._late else ()
                if any(self.trace.implies(each, read) and self._of(read, each) for each in trained):
                    yield read, batch

    def _over_batches(self, scope: Scope, backward: Backward) -> bool:
        """Whether it is a step of training on data of its own: with all data at once, each step is an epoch."""
        if scope.loop not in self._stepped:
            return False
        forwards = [each for each in self.trace.at(*backward.loss.forwards) if isinstance(each, Forward)]
        drawn = any(each.inputs.source in (Source.NOISE, Source.LOADER) for each in forwards)
        return scope.loop_kind is LoopKind.BATCHES or (drawn and scope.loop_kind is LoopKind.PLAIN)

    def _of(self, read: ValueRead, backward: Backward) -> bool:
        """Return whether the value comes from the trained forward pass on a GPU; a run does not always know its history."""
        behind = read.value.forwards & (backward.loss.forwards | backward.forwards)
        if self.trace.observed and not read.value.forwards:
            behind = backward.loss.forwards
        forwards = (each for each in self.trace.at(*behind) if isinstance(each, Forward))
        return read.on_gpu is not False and any(each.module in self._moved for each in forwards)
