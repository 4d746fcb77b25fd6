"""TDR408: every batch overwrites the score of an evaluation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule, Step, same_place
from torch_doctor.trace import DECIDING, LOGGED, READ, BatchTaken, Forward, LoaderBuilt, ScoreUsed, TallyUsed
from torch_doctor_rules.judging.causes import place
from torch_doctor_rules.judging.evidence import at, fact
from torch_doctor_rules.judging.loaders import Loaders
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.subjects import EVALUATION
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Trace


class ScoreOfLastBatch(Rule):
    """A reported, compared or stored score of an evaluation is that of its last batch only.

    ## Why is this bad?
    The loop computes a score for every batch, and all but the last are discarded. The score that is printed, selects
    the best checkpoint or drives a scheduler is measured on a few samples, always the same ones if the loader does not
    shuffle. It is noisy, and ignores the rest of the data. Often the loop does sum the scores, and then the variable of
    the last batch is returned instead of the sum.

    ## Example
    ```python
    for x in torch.randn(8, 16, 4):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), x[:, :1]).backward()
        optimizer.step()

    x = torch.randn(48, 4)
    test_loader = DataLoader(TensorDataset(x, x[:, :1]), batch_size=16)
    with torch.no_grad():
        for x, y in test_loader:
            test_loss = nn.functional.mse_loss(model(x), y)
    print(f"test loss: {test_loss.item():.4f}")
    ```

    ## Use instead
    ```diff
     test_loader = DataLoader(TensorDataset(x, x[:, :1]), batch_size=16)
    +test_loss = 0.0
     with torch.no_grad():
         for x, y in test_loader:
    -        test_loss = nn.functional.mse_loss(model(x), y)
    -print(f"test loss: {test_loss.item():.4f}")
    +        test_loss += nn.functional.mse_loss(model(x), y).item() * len(x)
    +print(f"test loss: {test_loss / len(test_loader.dataset):.4f}")
    ```

    ## How the probe confirms it
    The evaluated loader yields several batches. If it yields a single batch, the finding is refuted.

    ## When it is not reported
    - For training, where the loss of the last batch is often printed as a sign of progress.
    - The scores are also summed or collected in the loop, and the last one is only shown or stored beside the sum. It is
      reported if nothing reads the sum, or if the last score is compared or passed to a scheduler. A metric object that
      returns the score of a batch also sums all of them until `compute()` is called.
    - The loader yields one batch, or the loop ends in its first iteration.
    - The value is computed from several batches, such as a maximum or a running average.
    - It is unknown which loader yields the batches.

    ## References
    - https://docs.pytorch.org/tutorials/beginner/basics/optimization_tutorial.html#full-implementation
    """

    code = "TDR408"
    name = "score-of-last-batch"
    level = Level.ERROR
    witness = "SP"
    voided_by = frozenset({"values"})
    subject = EVALUATION
    only_confirms = True

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every score of one batch of an evaluation that is used when the pass is over."""
        loaders = trace.view(Loaders)
        if trace.observed:  # a run shows the batches, and no numbers
            yield from (
                self.finding(loader.site, "there are several batches", help="add the scores up")
                for loader, _ in loaders.evaluating()
                if loader.batches is not None and loader.batches > 1
            )
            return
        yield from first_per_site(self._found(trace, loaders))

    def _found(self, trace: Trace, loaders: Loaders) -> Iterator[Finding]:
        for used in trace.of(ScoreUsed):
            forwards = [event for event in trace.at(*used.forwards) if isinstance(event, Forward)]
            taken = {
                event.loader
                for event in trace.of(BatchTaken)
                if any(scope.loop == used.loop for scope in event.scope.iterations()[-1:])
            }
            loader = loaders.built.get(taken.pop()) if len(taken) == 1 else None
            if loader is None or not _gives_several(loader) or loaders.drawn(loader):
                continue
            if not all(_evaluates(loaders, forward) for forward in forwards) or _beside_the_sum(trace, used):
                continue
            yield self.finding(
                used.assigned,
                message(
                    "every batch overwrites `{name}`: only the value of the last batch is {how}",
                    name=used.holder,
                    how=used.how,
                ),
                help="sum the scores of all batches, weighted by batch size, and divide by the number of samples",
                trail=[
                    Step(loader.site, "the batches come from this loader"),
                    Step(used.site, f"it is {used.how} here, after the loop"),
                ],
                cause=place(used.assigned),
            )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether the loader was evaluated, and gives one batch."""
        loaders = trace.view(Loaders)
        evaluated = [each for each in _built(trace, finding) if loaders.evaluates(each.loader)]
        if any(each.batches is None for each in evaluated):
            return "the number of batches in the loader is unknown"
        return bool(evaluated)

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How many batches there are."""
        loaders = trace.view(Loaders)
        for loader in (*at(trace, finding.site, LoaderBuilt), *_built(trace, finding)):
            if loaders.evaluates(loader.loader) and loader.batches is not None:
                text = f"the loader yields {loader.batches:,} batch{'es' if loader.batches != 1 else ''}, of which one counts"
                yield fact(text, loader.batches, "batches", loader)
                return

    def same(self, finding: Finding, seen: Finding) -> bool:
        """Whether the score is of the batches of the loader that was seen."""
        return any(same_place(step.site, seen.site) for step in finding.trail[:1])


def _gives_several(loader: LoaderBuilt) -> bool:
    """Whether nothing says that all rows are in one batch."""
    return loader.full is not True and loader.batches != 1 and loader.batch != 0 and not loader.unseen


def _beside_the_sum(trace: Trace, used: ScoreUsed) -> bool:
    """Whether a metric object returned the score, and what it adds up is read or logged as well."""
    read = {event.tally for event in trace.of(TallyUsed) if event.how in (READ, LOGGED)}
    return used.how not in DECIDING and not used.tallies.isdisjoint(read)


def _evaluates(loaders: Loaders, forward: Forward) -> bool:
    """Whether a forward surely trains nothing."""
    passes = loaders.passes
    return (
        (forward.grad is False or forward.training is False)
        and not passes.goes_backward(forward)
        and not passes.beside(forward)
    )


def _built(trace: Trace, finding: Finding) -> list[LoaderBuilt]:
    """The loaders that were built where the finding says."""
    return [event for step in finding.trail[:1] for event in first_per_site(at(trace, step.site, LoaderBuilt))]
