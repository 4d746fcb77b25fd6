"""TDR125: frozen layers still change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule, Step
from torch_doctor.trace import Forward, FrozenNormsRan, OptimizerBuilt
from torch_doctor_rules.judging.causes import place
from torch_doctor_rules.judging.evidence import at, count, fact
from torch_doctor_rules.judging.frozen_parts import changed_norms, moving, of_optimizer
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.subjects import FROZEN_PARTS
from torch_doctor_rules.judging.wording import message, named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Trace


class FrozenPartChanges(Rule):
    """Frozen layers still change: batch norm updates its statistics, or parameters keep an old gradient.

    ## Why is this bad?
    `requires_grad = False` only stops gradients. Batch norm in training mode still updates its statistics with every
    batch. The frozen features change with each epoch and no longer fit the layers trained on them, and the saved model
    is not the pretrained one with a new head. An optimizer with momentum or weight decay also changes parameters that
    were frozen while they had a gradient.

    ## Example
    ```python
    backbone = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU()).requires_grad_(False)
    model = nn.Sequential(backbone, nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model[1].parameters(), lr=0.1)
    model.train()
    for _ in range(4):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(torch.randn(16, 4)), torch.randn(16, 1)).backward()
        optimizer.step()
    ```

    ## Use instead
    ```diff
     model.train()
    +backbone.eval()
     for _ in range(4):
    ```

    ## How the probe confirms it
    The probe compares the running means of frozen batch norm before and after each training forward pass; the weights
    must not have changed. It also compares frozen parameters that have a gradient before and after each step.

    ## When it is not reported
    - The batch norm's own parameters are trained, or only the batch norm is frozen.
    - The batch norm alone was put into training mode, or has a momentum of 0 or None.
    - The layers are unfrozen later, or the script changes them itself (the averages of a teacher, the second encoder
      of a contrastive pair).
    - There is no backward pass: the statistics are renewed on purpose.
    - Part of the code cannot be resolved.

    Related rules: TDR119 reports an optimizer that changes nothing, TDR126 a base model that trains along with its
    adapter, and TDR401 or TDR406 an evaluation that is not repeatable because of batch norm.

    ## References
    - https://docs.pytorch.org/docs/stable/notes/autograd.html#setting-requires-grad
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.BatchNorm2d.html
    """

    code = "TDR125"
    name = "frozen-part-changes"
    level = Level.WARNING
    witness = "SP"
    needs = frozenset({"frozen"})
    voided_by = frozenset({"inside"})
    subject = FROZEN_PARTS
    shown_by = "training call of a module with frozen batch norm here"

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Yield every training forward pass that changes frozen statistics, and every optimizer that changes frozen parameters."""
        yield from first_per_site(self._norms(trace))
        yield from first_per_site(self._moved(trace))

    def _norms(self, trace: Trace) -> Iterator[Finding]:
        for event, forward, mode in changed_norms(trace):
            trail = [Step(event.since, "it is frozen here")] if event.since is not None else []
            if mode is not None and mode.training:
                trail.append(Step(mode.site, "it is put into training mode here, along with the rest"))
            yield self.finding(
                event.site,
                message(
                    "the frozen batch norm of `{name}` is in training mode: its statistics still change",
                    name=forward.name,
                ),
                help="put the frozen part into evaluation mode after every `train()`",
                trail=trail,
                cause=place(event.since) if event.since is not None else "",
            )

    def _moved(self, trace: Trace) -> Iterator[Finding]:
        for event, optimizer in moving(trace):
            frozen = [Step(event.since, "they are frozen here")] if event.since is not None else []
            text = "`{name}` changes frozen parameters, because they still have an old gradient"
            yield self.finding(
                optimizer.site,
                message(text, name=named(optimizer.name, "the optimizer")),
                help="set their gradients to None when you freeze them, as `zero_grad()` does by default",
                trail=[*frozen, Step(event.site, "the optimizer steps here, with momentum or weight decay")],
            )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether frozen batch norm ran there, or frozen parameters were stepped, and nothing changed."""
        norms, moved = at(trace, finding.site, FrozenNormsRan), of_optimizer(trace, finding)
        if any(event.changed for event in norms) or any(event.moved for event in moved):
            return "frozen values change here, but possibly on purpose"
        if norms or moved:
            return True
        forwards = at(trace, finding.site, Forward)
        if any(forward.training is False for forward in forwards):
            return True
        built = at(trace, finding.site, OptimizerBuilt)
        return "nothing was frozen here in the probe run" if forwards or built else False

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How many statistics, or parameters, changed."""
        norms = at(trace, finding.site, FrozenNormsRan)
        if norms:
            most = max(norms, key=lambda event: event.changed)
            text = f"{most.changed} of {count(most.norms, 'frozen batch norm')} changed in one forward pass, but no frozen weight"
            yield fact(text, most.changed, "batch norms", most)
        for event in of_optimizer(trace, finding):
            text = f"{event.moved} of {count(event.tensors, 'frozen tensor')} changed in {count(event.steps, 'step')}"
            yield fact(text, event.moved, "parameter tensors", event)
