"""TDR119: an optimizer that steps, and moves nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from torch_doctor.rule import Evidence, Finding, Level, Rule, Step, same_place
from torch_doctor.trace import Backward, FrozenStepped, OptimizerBuilt, Trace
from torch_doctor_rules.judging.adapters import frozen_adapters
from torch_doctor_rules.judging.evidence import count, fact
from torch_doctor_rules.judging.still import WHY, dead_groups, own, still_ones
from torch_doctor_rules.judging.wording import message, named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Site

HELP = {
    "rate": "give the group the learning rate that was meant, or leave its parameters out of the optimizer",
    "data": "pass parameters that require gradients, such as `model.parameters()`",
    "frozen": "let the parameters require gradients before training, or leave them out of the optimizer",
}

_ALL_FROZEN = "all that `{name}` has is frozen: it steps, and moves nothing"


class ParameterNeverUpdated(Rule):
    """An optimizer steps, and the parameters it was given are bit for bit what they were.

    ## Why is this bad?
    Nothing is learnt. Usually the optimizer holds other parameters than the model that trains: the model was built again,
    copied or loaded after the optimizer was made. Or all of them are frozen, or the learning rate is zero, or so small that
    low precision rounds every update away.

    ## Example
    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, offset = nn.Linear(4, 1), nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    of_offset = torch.optim.SGD([offset], lr=0.1)
    model.requires_grad_(False)
    for _ in range(4):
        optimizer.zero_grad()
        of_offset.zero_grad()
        loss = nn.functional.mse_loss(model(torch.randn(16, 4)) + offset, torch.randn(16, 1))
        loss.backward()
        optimizer.step()
        of_offset.step()
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, offset = nn.Linear(4, 1), nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    of_offset = torch.optim.SGD([offset], lr=0.1)
    for _ in range(4):
        optimizer.zero_grad()
        of_offset.zero_grad()
        loss = nn.functional.mse_loss(model(torch.randn(16, 4)) + offset, torch.randn(16, 1))
        loss.backward()
        optimizer.step()
        of_offset.step()
    ```

    ## How the probe confirms it
    It keeps the values before the first step and compares them, bit for bit, after each step and when the script has ended.
    The source alone shows it where all that an optimizer has is frozen when it steps. The freezing is reported where it comes
    after the optimizer took the parameters, else the optimizer, with the line since which they are frozen.

    ## When it is not reported
    While a scheduler keeps the learning rate at zero and raises it in the next 50,000 steps, where the script sets
    rates itself, where a gradient scaler skipped the steps, for single frozen parameters in a group that moves, for frozen
    groups of a script that unfreezes anything, before the second step, and where another finding explains it. By the source
    alone, while anything that the optimizer has may require gradients in any pass.

    ## References
    - https://docs.pytorch.org/docs/stable/optim.html#constructing-it
    """

    code = "TDR119"
    name = "parameter-never-updated"
    level = Level.ERROR
    witness = "SP"
    needs_end = True
    needs = frozenset({"parameters"})
    voided_by = frozenset({"shapes", "inside", "rates"})
    explained_by = frozenset(
        [
            "TDR102",
            "TDR103",
            "TDR104",
            "TDR105",
            "TDR111",
            "TDR113",
            "TDR114",
            "TDR115",
            "TDR118",
            "TDR120",
            "TDR126",
            "TDR213",
            "TDR312",
        ]
    )

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every optimizer none of whose parameters moved, or one of which had a gradient and did not."""
        if not trace.observed:
            yield from self._frozen(trace)
            return
        if trace.run is not None and trace.run.foreseen and not trace.of(Backward):
            return  # what goes backward by the source may have come after the passes of the run
        for optimizer in trace.of(OptimizerBuilt):
            still = still_ones(trace, optimizer)
            if still and all(seen.still == "frozen" for seen in own(trace, optimizer)):
                since, late = still[0].frozen_at, still[0].frozen_late
                yield self._report(optimizer, _ALL_FROZEN, HELP["frozen" if since else "data"], since, late=late)
            elif still:
                text = "`{name}` steps and moves nothing: the parameters it was given stay what they were"
                if len(still) < len(own(trace, optimizer)):
                    text = f"`{{name}}` steps and does not move {count(len(still), 'parameter')} that have gradients"
                help_ = "give it the parameters of the model that trains, after that is built, loaded and moved"
                yield self._report(optimizer, text, help_, None, late=False)
            for number, group in dead_groups(trace, optimizer) if not still else ():
                text = f"`{{name}}` never moves its parameter group {number}: {WHY[group[0].still]}"
                yield self._report(optimizer, text, HELP[group[0].still], group[0].frozen_at, late=group[0].frozen_late)

    def _report(self, optimizer: OptimizerBuilt, text: str, help_: str, since: Site | None, *, late: bool) -> Finding:
        """At the freezing where that comes after the optimizer took the parameters, else at the optimizer."""
        site, step = optimizer.site, []
        if since is not None:
            step = [Step(since, "they require no gradients since here")]
            if late:
                site, step = since, [Step(optimizer.site, "the optimizer takes the parameters here")]
        name = named(optimizer.name, "the optimizer")
        return self.finding(site, message(text, name=name), help=help_, trail=step)

    def _frozen(self, trace: Trace) -> Iterator[Finding]:
        """By the source: an optimizer steps, and all that it has is frozen at every step."""
        steps = trace.of(FrozenStepped)
        thawed = {event.optimizer for event in steps if not event.frozen}
        built = {event.optimizer: event for event in trace.of(OptimizerBuilt)}
        for event in steps:
            optimizer = built.get(event.optimizer)
            if optimizer is None or event.since is None or event.optimizer in thawed | frozen_adapters(trace):
                continue
            late = event.since.row > optimizer.site.row or event.since.path != optimizer.site.path
            finding = self._report(optimizer, _ALL_FROZEN, HELP["frozen"], event.since, late=late)
            yield replace(finding, trail=(*finding.trail, Step(event.site, "it steps here")))

    def same(self, finding: Finding, seen: Finding) -> bool:
        """Whether both are of one optimizer: a run tells where it was built."""
        return any(same_place(site, seen.site) for site in (finding.site, *(step.site for step in finding.trail)))

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether something that the optimizer has moved."""
        for optimizer in trace.of(OptimizerBuilt):
            if any(same_place(site, optimizer.site) for site in finding.places()) and (found := own(trace, optimizer)):
                return any(seen.moved for seen in found) or "the optimizer did not step often enough"
        return False

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How many of its parameters moved in how many steps."""
        for optimizer in trace.of(OptimizerBuilt):
            if any(same_place(site, optimizer.site) for site in finding.places()):
                fates = [(bool(seen.moved), seen.steps) for seen in own(trace, optimizer) if seen.moved is not None]
                moved, steps = sum(moved for moved, _ in fates), max((steps for _, steps in fates), default=0)
                text = f"{moved} of {count(len(fates), 'parameter tensor')} moved in {count(steps, 'step')}"
                yield fact(text, moved, "parameter tensors", optimizer)
