"""TDR710: a distributed sampler whose `set_epoch` is never called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Epoch, Figure
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule, Step
from torch_doctor.trace import BatchTaken, EpochSet, Escaped, GaveUp, LoaderBuilt, Owned
from torch_doctor_rules.judging.evidence import count, fact
from torch_doctor_rules.judging.loaders import Loaders
from torch_doctor_rules.judging.ranks import Ranks, passes
from torch_doctor_rules.judging.wording import is_path, message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Scope, Trace


class SamplerEpochNotSet(Rule):
    """The training loader uses a `DistributedSampler`, but `set_epoch` is never called.

    ## Why is this bad?
    The sampler shuffles with a seed and the epoch number, and it gets that number only from `set_epoch`. Without the call,
    every epoch has the same order and the same batches in every process, as if the data was shuffled only once.

    ## Example
    ```python
    data = TensorDataset(torch.randn(64, 4), torch.randn(64, 1))
    sampler = DistributedSampler(data, num_replicas=2, rank=0)
    loader = DataLoader(data, batch_size=8, sampler=sampler)
    for epoch in range(10):
        for x, y in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
    ```

    ## Use instead
    ```diff
     for epoch in range(10):
    +    sampler.set_epoch(epoch)
         for x, y in loader:
    ```

    ## Fix safety
    The fix is unsafe because it changes the order of the samples in every epoch. It calls `set_epoch` with the epoch counter
    at the start of the epoch loop.

    ## How the probe confirms it
    A second pass over the loader starts without any call to `set_epoch`, and the sampler returns the same samples in the same
    order. With several processes (`--probe-processes 2`), this is checked in each of them.

    ## When it is not reported
    - If the sampler does not shuffle.
    - If the loader is only used for evaluation, or for a single pass.
    - If any function called `set_epoch` is called.
    - If a framework runs the training loop.

    ## References
    - https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.distributed.DistributedSampler
    """

    code = "TDR710"
    name = "sampler-epoch-not-set"
    level = Level.ERROR
    witness = "SP"
    shown_by = "second pass through the loader"
    fix = Fix.UNSAFE
    fix_changes = frozenset({Figure.BATCHES, Figure.UPDATES})
    compares_ranks = True

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Yield a finding for every loop over epochs whose sampler never gets the epoch."""
        given_epoch = {event.sampler for event in trace.of(EpochSet)}
        sampled = [event for event in trace.of(LoaderBuilt) if event.sampler and not given_epoch & {event.sampler, 0}]
        if not sampled or any(isinstance(event, (Owned, GaveUp)) for event in trace.events):
            return
        away = frozenset[int]().union(*(event.loaders for event in trace.of(Escaped) if event.scope.iterations()))
        loaders, seen = trace.view(Loaders), set()
        for loader in sampled:
            epochs = self._epochs(trace, loader)
            if loader.loader in away or self._reordered(trace, loader):
                continue
            if epochs is not None and epochs.site not in seen and loaders.trains(loader.loader):
                seen.add(epochs.site)
                text = "`set_epoch` is never called for the sampler of `{name}`: every epoch has the same order"
                yield self.finding(
                    epochs.site,
                    message(text, name=loaders.name(loader)),
                    help="call the sampler's `set_epoch` with the epoch number at the start of every epoch",
                    trail=[Step(loader.site, "the loader with the distributed sampler is created here")],
                    edits=_told(loaders.name(loader), loader, self._taken(trace, loader)[0], epochs),
                )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:  # noqa: ARG002 - loops write no place of their own
        """Whether some loader with such a sampler was gone through twice, and its sampler got the epoch."""
        given_epoch = {event.sampler for event in trace.of(EpochSet)}
        again = [event for event in trace.of(LoaderBuilt) if event.sampler and self._epochs(trace, event) is not None]
        return any(event.sampler in given_epoch or self._reordered(trace, event) for event in again)

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:  # noqa: ARG002 - as above
        """Yield how often `set_epoch` was called, and the order of the samples."""
        for loader in trace.of(LoaderBuilt):
            if loader.sampler and self._epochs(trace, loader) is not None:
                times = len({event.scope.iterations()[-1].loop for event in self._taken(trace, loader)})
                calls = sum(event.sampler == loader.sampler for event in trace.of(EpochSet))
                text = f"{count(calls, 'call')} to `set_epoch` in {count(times, 'pass', 'passes')} over the loader"
                yield fact(text, calls, "calls", loader)
                yield from _order(trace.view(Ranks), loader.sampler)
                return

    def _reordered(self, trace: Trace, loader: LoaderBuilt) -> bool:
        """Return whether a run had two orders of one sampler: something other than `set_epoch` changes it."""
        return len({event.rows for event in passes(trace, loader.sampler)}) > 1

    def _taken(self, trace: Trace, loader: LoaderBuilt) -> list[BatchTaken]:
        taken = [event for event in trace.of(BatchTaken) if event.loader == loader.loader]
        return [event for event in taken if event.scope.iterations()]

    def _epochs(self, trace: Trace, loader: LoaderBuilt) -> Scope | None:
        """Return the loop that contains the first and the second pass over the loader."""
        taken = self._taken(trace, loader)
        for first in taken[:1]:
            for second in taken:
                epochs = trace.common_loop(first, second)
                inner = first.scope.iterations()[-1].loop
                if epochs is not None and epochs.loop != inner and not trace.same_iteration(first, second):
                    return epochs
        return None


def _told(name: str, loader: LoaderBuilt, taken: BatchTaken, epochs: Scope) -> list[Epoch]:
    """The sampler gets the number of each epoch."""
    chain = taken.scope.chain()
    inner = chain[next(number for number, scope in enumerate(chain) if scope.loop == epochs.loop) + 1 :]
    calls = tuple((scope.called_at, scope.site) for scope in inner if scope.called_at is not None)
    return [Epoch(epochs.site, name, loader.site, calls)] if is_path(name) else []


def _order(ranks: Ranks, sampler: int) -> Iterator[Evidence]:
    """That all read the rows of the first epoch in the second as they did in it; and whether they read the same rows."""
    drawn = [each[:2] for each in ranks.rows(sampler) if len(each) > 1]
    if not drawn:
        return
    first, rows = drawn[0][0], count(drawn[0][0].count, "sample")
    if all(one.rows == two.rows for one, two in drawn):
        yield fact(f"epochs 1 and 2 have the same order of {rows} in {ranks.all()}", first.count, "rows")
    if all(set(one.rows) == set(first.rows) for one, _ in drawn):
        yield fact(f"{ranks.all()} read the same {rows} in epoch 1", first.count, "rows")
