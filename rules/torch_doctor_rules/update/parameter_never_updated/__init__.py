"""TDR119: an optimizer steps, but changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from torch_doctor.rule import Evidence, Finding, Level, Rule, Step, same_place
from torch_doctor.trace import Backward, Escaped, FrozenStepped, OptimizerBuilt, Trace
from torch_doctor_rules.judging.adapters import frozen_adapters
from torch_doctor_rules.judging.evidence import count, fact
from torch_doctor_rules.judging.joining import is_late
from torch_doctor_rules.judging.wording import message, named
from torch_doctor_rules.update.parameter_never_updated import still
from torch_doctor_rules.update.parameter_never_updated.still import about, own, refused

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Site


class ParameterNeverUpdated(Rule):
    """An optimizer steps, but its parameters never change.

    ## Why is this bad?
    Nothing is learned. Usually the optimizer holds the parameters of another model than the one that is trained: the
    model was created again, copied or loaded after the optimizer. Or all parameters are frozen, or the learning rate
    is zero, or so small that low precision rounds every update away.

    ## Example
    ```python
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
    ```diff
     of_offset = torch.optim.SGD([offset], lr=0.1)
    -model.requires_grad_(False)
     for _ in range(4):
    ```

    ## How the probe confirms it
    The probe copies the values before the first step and compares them, bit for bit, after each step and at the end of
    the script. If nothing in the loss requires gradients, `backward()` raises an error before the first step. Then the
    probe confirms that all parameters of the optimizer are frozen.

    The static scan alone reports an optimizer whose parameters are all frozen when it steps, or that has only tensors
    computed without a graph, such as the result of `clamp` under `torch.no_grad()`. The finding is at the
    line that freezes them if it comes after the optimizer was created. Otherwise it is at the optimizer, and its trail
    has that line.

    ## When it is not reported
    - A scheduler keeps the learning rate at zero and raises it within the next 50,000 steps, or the script sets
      learning rates itself.
    - A gradient scaler skipped the steps.
    - Only some parameters of a group are frozen, or the script unfreezes anything and an entire group is frozen.
    - The optimizer took fewer than two steps.
    - Another finding explains it.
    - In the static scan: anything in the optimizer may require gradients in any pass.

    ## References
    - https://docs.pytorch.org/docs/stable/optim.html#constructing-it
    """

    code = "TDR119"
    name = "parameter-never-updated"
    level = Level.ERROR
    witness = "SP"
    needs = frozenset({"parameters", "refusals"})
    voided_by = frozenset({"shapes", "inside", "rates"})
    explained_by = frozenset(
        f"TDR{number}" for number in (102, 103, 104, 105, 111, 113, 114, 115, 118, 120, 126, 127, 213, 312)
    )

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Yield every optimizer with no parameter that changed, or with one that had a gradient and did not change."""
        if not trace.observed:
            yield from self._frozen(trace)
            return
        for optimizer, event in refused(trace):
            remedy = "frozen" if event.since else "data"
            yield self._report(optimizer, still.ALL_FROZEN, remedy, event.since, late=event.late)
        if trace.run is not None and trace.run.foreseen and not trace.of(Backward):
            return  # what goes backward by the source may have come after the passes of the run
        for optimizer in trace.of(OptimizerBuilt):
            left = still.unmoved(trace, optimizer)
            if left and all(seen.still == "frozen" for seen in own(trace, optimizer)):
                since, late = left[0].frozen_at, left[0].frozen_late
                yield self._report(optimizer, still.ALL_FROZEN, "frozen" if since else "data", since, late=late)
            elif left:
                text = "`{name}` steps, but none of its parameters ever changes: it trains nothing"
                if len(left) < len(own(trace, optimizer)):
                    text = f"`{{name}}` steps, but does not change {count(len(left), 'parameter')} with gradients"
                help_ = "pass the parameters of the model that is trained, after it is created, loaded and moved"
                yield self._report(optimizer, text, help_, None, late=False)
            for number, group in still.dead_groups(trace, optimizer) if not left else ():
                text = f"`{{name}}` never changes its parameter group {number}: {still.WHY[group[0].still]}"
                yield self._report(optimizer, text, group[0].still, group[0].frozen_at, late=group[0].frozen_late)

    def _report(self, optimizer: OptimizerBuilt, text: str, remedy: str, since: Site | None, *, late: bool) -> Finding:
        """At the freezing where that comes after the optimizer took the parameters, else at the optimizer.

        `remedy` is the text of the help, or its name in `still.HELP`.
        """
        site, step = optimizer.site, []
        if since is not None:
            step = [Step(since, "the parameters are frozen here")]
            if late:
                site, step = since, [Step(optimizer.site, "the optimizer receives the parameters here")]
        name = named(optimizer.name, "the optimizer")
        return self.finding(site, message(text, name=name), help=still.HELP.get(remedy, remedy), trail=step)

    def _frozen(self, trace: Trace) -> Iterator[Finding]:
        """By the source: an optimizer steps, and all that it has is frozen at every step."""
        steps = trace.of(FrozenStepped)
        known = frozen_adapters(trace).union(event.optimizer for event in steps if not event.frozen)
        built = {event.optimizer: event for event in trace.of(OptimizerBuilt)}
        for event in steps:
            optimizer = built.get(event.optimizer)
            given = (each.optimizers for each in trace.of(Escaped))
            if optimizer is not None and event.plain and not any(event.optimizer in each for each in given):
                finding = self._report(optimizer, still.ALL_PLAIN, "plain", None, late=False)
                yield replace(finding, trail=(Step(event.site, "it steps here"),))
                continue
            if optimizer is None or event.since is None or event.optimizer in known or is_late(trace, optimizer):
                continue
            late = event.since.row > optimizer.site.row or event.since.path != optimizer.site.path
            finding = self._report(optimizer, still.ALL_FROZEN, "frozen", event.since, late=late)
            yield replace(finding, trail=(*finding.trail, Step(event.site, "it steps here")))

    def speaks_alone(self, trace: Trace, finding: Finding) -> bool:
        """Return whether the script came to its end, as what is still may move later, or nothing is left to train."""
        ended = trace.run is not None and trace.run.end.how in {"end", "exit"}
        return ended or any(about(finding, optimizer) for optimizer, _ in refused(trace))

    def same(self, finding: Finding, seen: Finding) -> bool:
        """Return whether both are about one optimizer: a run knows where it was created."""
        return any(same_place(site, seen.site) for site in (finding.site, *(step.site for step in finding.trail)))

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether something that the optimizer has moved."""
        for optimizer in trace.of(OptimizerBuilt):
            if about(finding, optimizer) and (found := own(trace, optimizer)):
                return any(seen.moved for seen in found) or "the optimizer took too few steps"
        return False

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How many of its parameters moved in how many steps, or are frozen where torch refused a backward pass."""
        for optimizer, event in refused(trace):
            if about(finding, optimizer):
                frozen = f"{count(event.elements, 'parameter')} in {count(event.tensors, 'tensor')}, all frozen"
                yield fact(f"`backward()` raises an error: {frozen}", event.elements, "parameters", event)
                return
        for optimizer in trace.of(OptimizerBuilt):
            if about(finding, optimizer):
                fates = [(bool(seen.moved), seen.steps) for seen in own(trace, optimizer) if seen.moved is not None]
                moved, steps = sum(moved for moved, _ in fates), max((steps for _, steps in fates), default=0)
                text = f"{moved} of {count(len(fates), 'parameter tensor')} changed in {count(steps, 'step')}"
                yield fact(text, moved, "parameter tensors", optimizer)
