"""TDR125: what is frozen, and changes all the same."""

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
    """What is frozen changes all the same: the statistics of its batch norm, or parameters that keep an old gradient.

    ## Why is this bad?
    `requires_grad = False` stops gradients, and nothing else. Batch norm in training mode still gathers the statistics of
    every batch: the frozen features are other ones after each epoch, they fit no longer what was trained before, and the
    model that is saved is not the pretrained one with a new head. An optimizer with momentum or weight decay still moves
    parameters that were frozen when they had a gradient.

    ## Example
    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
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
    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    backbone = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU()).requires_grad_(False)
    model = nn.Sequential(backbone, nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model[1].parameters(), lr=0.1)
    model.train()
    backbone.eval()
    for _ in range(4):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(torch.randn(16, 4)), torch.randn(16, 1)).backward()
        optimizer.step()
    ```

    ## How the probe confirms it
    It compares the running means of frozen batch norm before and after each training forward, beside weights that stay
    what they are, and frozen parameters that have a gradient before and after each step.

    ## When it is not reported
    When the batch norm's own parameters train, or it alone is frozen; when it was put into training mode by itself, or has a
    momentum of 0 or None; for what is unfrozen later, and what the script moves itself (the averages of a teacher, the second
    encoder of a contrastive pair); where no loss goes backward (statistics that are renewed on purpose; TDR401 speaks of
    evaluation); and where not all is in sight. Of an optimizer that moves nothing TDR119 speaks, of a base that trains
    beside its adapter TDR126; that evaluation is not repeatable for the sake of batch norm is TDR401 or TDR406.

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
        """Every training forward that changes frozen statistics, and every optimizer that moves what is frozen."""
        yield from first_per_site(self._norms(trace))
        yield from first_per_site(self._moved(trace))

    def _norms(self, trace: Trace) -> Iterator[Finding]:
        for event, forward, mode in changed_norms(trace):
            trail = [Step(event.since, "it is frozen here")] if event.since is not None else []
            if mode is not None and mode.training:
                trail.append(Step(mode.site, "it is put into training mode with the rest here"))
            yield self.finding(
                event.site,
                message("the frozen batch norm of `{name}` gathers statistics in training mode", name=forward.name),
                help="put what is frozen into evaluation mode after every `train()`",
                trail=trail,
                cause=place(event.since) if event.since is not None else "",
            )

    def _moved(self, trace: Trace) -> Iterator[Finding]:
        for event, optimizer in moving(trace):
            frozen = [Step(event.since, "they are frozen here")] if event.since is not None else []
            text = "`{name}` moves parameters that are frozen: they keep an old gradient"
            yield self.finding(
                optimizer.site,
                message(text, name=named(optimizer.name, "the optimizer")),
                help="set their gradients to None when they are frozen, as `zero_grad()` does by default",
                trail=[*frozen, Step(event.site, "it steps here, with its momentum or weight decay")],
            )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether frozen batch norm ran there, or frozen parameters were stepped, and nothing changed."""
        norms, moved = at(trace, finding.site, FrozenNormsRan), of_optimizer(trace, finding)
        if any(event.changed for event in norms) or any(event.moved for event in moved):
            return "what is frozen changes here, but perhaps on purpose"
        if norms or moved:
            return True
        forwards = at(trace, finding.site, Forward)
        if any(forward.training is False for forward in forwards):
            return True
        built = at(trace, finding.site, OptimizerBuilt)
        return "the run saw nothing frozen here" if forwards or built else False

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How many statistics, or parameters, changed."""
        norms = at(trace, finding.site, FrozenNormsRan)
        if norms:
            most = max(norms, key=lambda event: event.changed)
            text = f"{most.changed} of {count(most.norms, 'frozen batch norm')} changed in one forward, no frozen weight did"
            yield fact(text, most.changed, "batch norms", most)
        for event in of_optimizer(trace, finding):
            text = f"{event.moved} of {count(event.tensors, 'frozen tensor')} moved in {count(event.steps, 'step')}"
            yield fact(text, event.moved, "parameter tensors", event)
