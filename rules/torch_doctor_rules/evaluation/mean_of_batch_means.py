"""TDR405: a smaller last batch counts as much as a full one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule, Step, same_place
from torch_doctor.trace import LoaderBuilt
from torch_doctor_rules.judging import answers
from torch_doctor_rules.judging.batch_means import BatchMeans
from torch_doctor_rules.judging.evidence import at, fact
from torch_doctor_rules.judging.ignored_labels import IgnoredLabels
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.subjects import EVALUATION
from torch_doctor_rules.judging.wording import message, named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Trace


_MEAN = "`{name}` is biased: a smaller last batch counts as much as a full one"
_SUM = "the average of `{name}` is biased: a smaller last batch counts as much as a full one"
_HELP = "weight each batch by its size, and divide by the number of samples"
_SHOWN = "a wrong prediction counts more in the last batch"
_EVEN = "a wrong prediction counts as much in each batch"
"""What a run has shown of a figure, in the notes of its trail."""


class MeanOfBatchMeans(Rule):
    """A reported or decisive score is the average of batch means, in which a smaller last batch counts too much.

    ## Why is this bad?
    A loss is the mean over its batch, and so is the share of correct predictions `hits / len(labels)`. With 50 samples
    in batches of 16, the last two samples form their own batch, and each of them counts eight times as much as any other.
    The score depends on the batch size and on the order of the samples.

    ## Example
    ```python
    for x in torch.randn(8, 16, 4):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), x[:, :1]).backward()
        optimizer.step()

    test_loader = DataLoader(TensorDataset(torch.randn(50, 4), torch.randn(50, 1)), batch_size=16)
    total = 0.0
    with torch.no_grad():
        for x, y in test_loader:
            total += nn.functional.mse_loss(model(x), y).item()
    print(total / len(test_loader))
    ```

    ## Use instead
    ```diff
         for x, y in test_loader:
    -        total += nn.functional.mse_loss(model(x), y).item()
    -print(total / len(test_loader))
    +        total += nn.functional.mse_loss(model(x), y).item() * len(x)
    +print(total / len(test_loader.dataset))
    ```

    ## How the probe confirms it
    The last batch of the evaluated loader is smaller than the others. If the number of samples is a multiple of the
    batch size, the finding is refuted.

    A copy of the process finishes the evaluation with perfect predictions, of which some in the first batch are wrong, and
    with as many wrong ones in the last batch. If the figure changes by different amounts, as the sizes of both batches are, the
    finding is confirmed; if it changes by the same amount, it is refuted. The probe reports a printed figure on its own
    if it is such an average, and no loop around the evaluation trains.

    ## When it is not reported
    - For averages of the training loss.
    - Inside a training loop, an average is reported only if it is compared with something or passed to a scheduler.
      Outside of a training loop, it is the result, and is reported.
    - The pass runs with both autograd and training mode enabled.
    - The losses are summed (`reduction="sum"`) or weighted by the batch size.
    - The sum is divided by something other than the number of batches.
    - The loader has a single batch or one sample per batch, drops the last batch, has a known multiple of the batch
      size, is a stream, is unresolved, or draws random batches of one size.
    - It is unknown which single loader yields the batches.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.CrossEntropyLoss.html
    - https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.DataLoader
    """

    code = "TDR405"
    name = "mean-of-batch-means"
    level = Level.WARNING
    witness = "SP"
    voided_by = frozenset({"values"})
    subject = EVALUATION
    needs = frozenset({"oracles"})
    explained_by = frozenset({"TDR408", "TDR409", "TDR410", "TDR411", "TDR412"})
    only_confirms = True

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every average that matters of an evaluation over batches of which the last may be short."""
        means = trace.view(BatchMeans)
        if trace.observed:  # a run shows the rows, and how figures change with the place of wrong predictions
            even = [Step(site, _EVEN) for site in answers.sites(trace, answers.SAMPLES)]
            for loader, _ in means.loaders.evaluating():
                if means.falls_short(loader):
                    yield self.finding(loader.site, "the last batch is smaller", help=_HELP, trail=even)
            for event in answers.scored(trace):
                if answers.weights(event) == answers.BATCHES:
                    text = message(_MEAN, name=named(event.name if event.how == "assigned" else "", "the average"))
                    yield self.finding(event.site, text, help=_HELP, trail=[Step(event.site, _SHOWN)])
            return
        explained = trace.view(IgnoredLabels).places()
        for found in means.averages():
            if found.mean.site in explained:
                continue  # TDR411 reports what is averaged
            steps = [Step(found.loader.site, "the last batch of this loader may be smaller")]
            steps.append(Step(found.mean.site, "this is the mean over one batch"))
            steps += [Step(found.added.site, "every mean is added here")] if found.added is not None else []
            yield self.finding(
                found.average.site,
                message(
                    _SUM if found.added else _MEAN, name=(found.added.holder if found.added else found.average.name)
                ),
                help=_HELP,
                trail=steps,
            )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether the loader was evaluated, and its rows divide evenly, or each sample has the same weight."""
        if any(same_place(site, finding.site) for site in answers.sites(trace, answers.SAMPLES)):
            return True
        means = trace.view(BatchMeans)
        evaluated = [each for each in self._built(trace, finding) if means.loaders.evaluates(each.loader)]
        if any(each.rows is None for each in evaluated):
            return "the number of samples in the loader is unknown"
        return bool(evaluated)

    def speaks_alone(self, trace: Trace, finding: Finding) -> bool:
        """Return whether the average is printed, and is the result: no loop around it trains."""
        if not finding.trail or finding.trail[0].note != _SHOWN:
            return False
        return any(
            answers.divisor(event) == answers.BATCHES
            and answers.is_first(trace, event)
            and not answers.trains_around(trace, event)
            for event in answers.scored(trace, finding.site)
            if answers.weights(event) == answers.BATCHES
        )

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How many rows the last batch has, or how a figure changes."""
        loaders = trace.view(BatchMeans).loaders
        for loader in (*at(trace, finding.site, LoaderBuilt), *self._built(trace, finding)):
            if loaders.evaluates(loader.loader) and loader.rows is not None and loader.batch:
                last = loader.rows % loader.batch or loader.batch
                text = f"{loader.rows:,} samples in batches of {loader.batch}: the last one has {last}"
                yield fact(text, last, "samples", loader)
                break
        yield from answers.moved(trace, finding.site)

    def same(self, finding: Finding, seen: Finding) -> bool:
        """Whether the average is over the batches of the loader that was seen, or is the figure that was seen."""
        if seen.trail and seen.trail[0].note == _SHOWN:
            return same_place(finding.site, seen.site)
        even = any(same_place(step.site, finding.site) for step in seen.trail)
        return not even and any(same_place(step.site, seen.site) for step in finding.trail[:1])

    def _built(self, trace: Trace, finding: Finding) -> list[LoaderBuilt]:
        """The loaders that were built where the finding says."""
        return [event for step in finding.trail[:1] for event in first_per_site(at(trace, step.site, LoaderBuilt))]
