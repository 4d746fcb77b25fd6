"""TDR416: averaged weights are evaluated with batch norm statistics that do not fit them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule, Step
from torch_doctor.trace import AveragedNormsRan, AverageGiven, Escaped, Forward, GaveUp, Stepped, Trace, WeightsAveraged
from torch_doctor_rules.judging.evidence import at, count, fact
from torch_doctor_rules.judging.family import Family
from torch_doctor_rules.judging.passes import Passes
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.subjects import AVERAGED_NORMS
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator


class AveragedBatchNormStale(Rule):
    """A model with averaged weights is evaluated before its batch norm has gathered statistics with these weights.

    ## Why is this bad?
    Batch norm in evaluation mode normalizes with running statistics of its inputs. They belong to the weights that the
    batches went through. Averaged weights compute other activations: with the statistics of the model that trains, or
    with the initial ones of a new model, the layers behind get inputs that they were never trained on. The accuracy of
    the average can drop to chance, although the average is a good model.

    ## Example
    ```python
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))
    averaged = torch.optim.swa_utils.AveragedModel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(train_set, batch_size=16, shuffle=True)
    for epoch in range(4):
        for x, y in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
        averaged.update_parameters(model)
    averaged.eval()
    with torch.no_grad():
        for x, y in DataLoader(test_set, batch_size=32):
            print(nn.functional.mse_loss(averaged(x), y).item())
    ```

    ## Use instead
    ```diff
         averaged.update_parameters(model)
    +torch.optim.swa_utils.update_bn(loader, averaged)
     averaged.eval()
    ```

    ## How the probe confirms it
    The weights at the evaluation are a weighted mean of several earlier versions of the weights, and the statistics are
    those that the trained model has or had, or those of a new layer.

    ## When it is not reported
    - `update_bn` gathers the statistics, or batches run through the average in training mode after its last update.
    - The buffers are averaged or copied as well: `use_buffers=True`, averages of complete state dicts, buffers that
      the script copies. An exponential average with the statistics of the model it follows closely is common.
    - The model has no batch norm, or only code that cannot be resolved would show it.
    - The average is saved and not evaluated: it may be a checkpoint.

    Related rules: TDR401 reports an average that is evaluated in training mode, and TDR415 one from which training
    goes on.

    ## References
    - https://docs.pytorch.org/docs/stable/optim.html#taking-care-of-batch-normalization
    - https://docs.pytorch.org/docs/stable/generated/torch.optim.swa_utils.update_bn.html
    """

    code = "TDR416"
    name = "averaged-batch-norm-stale"
    level = Level.ERROR
    witness = "SP"
    needs = frozenset({"averages"})
    voided_by = frozenset({"inside"})
    subject = AVERAGED_NORMS
    only_confirms = True
    shown_by = "evaluation of averaged weights here"

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Yield every evaluation of averaged weights with statistics of other weights."""
        yield from first_per_site(self._found(trace))

    def _found(self, trace: Trace) -> Iterator[Finding]:
        passes = trace.view(Passes)
        for event in trace.of(AveragedNormsRan):
            forward = next((each for each in trace.at(event.forward) if isinstance(each, Forward)), None)
            if forward is None or event.renewed or passes.goes_backward(forward):
                continue
            if trace.observed or (
                not _unseen(trace, event) and (event.initial or event.equal or _is_rare(trace, event))
            ):
                yield self._report(event, forward)

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Return whether averaged weights were evaluated there, with statistics of their own."""
        if at(trace, finding.site, AveragedNormsRan):
            return True
        if at(trace, finding.site, Forward):
            return "the probe run evaluated no average of several versions of the weights here"
        return False

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """Whose statistics they are."""
        for event in at(trace, finding.site, AveragedNormsRan)[:1]:
            layers = count(event.norms, "batch norm layer")
            if event.renewed:
                yield fact(f"{layers} with statistics of the average", event.norms, event=event)
            else:
                whose = "initial statistics" if event.initial else "statistics of the trained model"
                yield fact(f"{layers} with {whose}", event.norms, event=event)
                yield fact(
                    f"the weights are an average of {count(event.versions, 'version')}", event.versions, event=event
                )

    def _report(self, event: AveragedNormsRan, forward: Forward) -> Finding:
        whose = "initial statistics of batch norm" if event.initial else "statistics of batch norm from other weights"
        return self.finding(
            event.site,
            message(f"`{{name}}` evaluates averaged weights with {whose}", name=forward.name),
            help="run training batches through the average in training mode before it is evaluated, as update_bn does",
            trail=[Step(event.since, "it gets averaged weights here")] if event.since is not None else [],
        )


def _is_rare(trace: Trace, event: AveragedNormsRan) -> bool:
    """Whether the weights are averaged less often than the optimizer steps: the average is far from the trained weights."""
    related = trace.view(Family).related
    steps = {scope.site for step in trace.of(Stepped) for scope in step.scope.iterations()[-1:]}
    updates = [each for each in trace.of(WeightsAveraged) if related(each.of, event.of)]
    return (
        bool(steps)
        and bool(updates)
        and all(steps.isdisjoint(s.site for s in each.scope.iterations()) for each in updates)
    )


def _unseen(trace: Trace, event: AveragedNormsRan) -> bool:
    """Whether code out of sight had the model, or what was averaged, before."""
    related = trace.view(Family).related
    given = frozenset({event.module}).union(*(each.modules for each in trace.of(AverageGiven)))
    return any(
        each.index < event.index and related(each.modules, given | event.of) for each in trace.of(Escaped)
    ) or any(each.index < event.index for each in trace.of(GaveUp))
