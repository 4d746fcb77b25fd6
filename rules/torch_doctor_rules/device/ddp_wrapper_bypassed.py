"""TDR811: training goes around the wrapper that synchronises gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Attribute, Callee, Figure
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule, Step
from torch_doctor.trace import Backward, BranchKind, Clipped, Forward, GaveUp, Owned, Wrapped
from torch_doctor_rules.judging.evidence import at, count, fact
from torch_doctor_rules.judging.exchanges import applied, may_average
from torch_doctor_rules.judging.ranks import Ranks
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Stepped, Trace

WRAPPER = "torch.nn.parallel.DistributedDataParallel"


class DdpWrapperBypassed(Rule):
    """Training forwards go to the module inside of `DistributedDataParallel`, and gradients are not synchronised.

    ## Why is this bad?
    The wrapper's own forward prepares the averaging of gradients between the processes. A forward of `ddp.module`, or of
    the model by its old name, computes the same and prepares nothing: each process trains a model of its own on its part
    of the data, they drift apart, and what is saved is the model of one of them.

    ## Example
    ```python
    import torch
    from torch import nn
    from torch.nn.parallel import DistributedDataParallel

    torch.distributed.init_process_group("nccl")
    model = nn.Linear(4, 1).cuda()
    ddp = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(ddp.parameters(), lr=0.1)

    for step in range(10):
        loss = model(torch.randn(16, 4).cuda()).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn
    from torch.nn.parallel import DistributedDataParallel

    store = torch.distributed.HashStore()
    torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    model = nn.Linear(4, 1)
    ddp = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(ddp.parameters(), lr=0.1)

    for step in range(10):
        loss = ddp(torch.randn(16, 4)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    torch.distributed.destroy_process_group()
    ```

    ## Fix safety
    The fix is unsafe, as the processes begin to exchange gradients, which all of them have to do equally often.

    ## How the probe confirms it
    After the model was wrapped, a forward that is trained through is called on the module itself. In several processes
    (`--probe-processes 2`) it compares the gradients that they step with: they differ, or something else averaged them. In one
    process that is undecided where the script sends numbers between the forward and the step.

    ## When it is not reported
    For evaluation, saving and whatever else needs `.module` without training; where a setting decides whether the model is
    wrapped; where the wrapper takes part in the same step; and where the script changes the gradients itself, as
    `all_reduce` by hand does.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html
    - https://docs.pytorch.org/docs/stable/notes/ddp.html
    """

    code = "TDR811"
    name = "ddp-wrapper-bypassed"
    level = Level.ERROR
    witness = "SP"
    fix = Fix.UNSAFE
    fix_changes = frozenset({Figure.GRADIENTS, Figure.UPDATES})
    needs = frozenset({"synchrony"})
    compares_ranks = True
    only_confirms = True  # gradients that are averaged out of sight leave no event in the run of one process

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every training forward around a wrapper that is there."""
        wraps = [wrapped for wrapped in trace.of(Wrapped) if wrapped.wrapper == WRAPPER]
        by_hand = any(clip.manual for clip in trace.of(Clipped))
        if wraps and not by_hand and not any(trace.of(kind) for kind in (Owned, GaveUp)):
            yield from first_per_site(self._reports(trace, wraps))

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether this forward goes through the wrapper."""
        forwards = at(trace, finding.site, Forward)
        averaged = trace.view(Ranks).averaged
        if all(forward.wrapped or averaged(forward.module) for forward in forwards):
            return bool(forwards)
        if not any(wrapped.wrapper == WRAPPER for wrapped in trace.of(Wrapped)):
            return "this run wraps no model"
        return "nothing was trained by it, or the script exchanges the gradients itself (see `--probe-processes`)"

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How many of these forwards go around the wrapper, and what that does to the gradients."""
        forwards = at(trace, finding.site, Forward)
        around = sum(not forward.wrapped for forward in forwards)
        yield fact(f"{around} of {count(len(forwards), 'forward')} went around the wrapper", around, "forwards")
        for module in dict.fromkeys(forward.module for forward in forwards):
            yield from trace.view(Ranks).difference(module)
            yield from trace.view(Ranks).sameness(module)

    def _reports(self, trace: Trace, wraps: list[Wrapped]) -> Iterator[Finding]:
        ranks = trace.view(Ranks)
        for backward in trace.of(Backward):
            step = applied(trace, backward)
            if step is None or backward.through != "backward":
                continue
            forwards = [each for each in trace.at(*backward.loss.graph_forwards) if isinstance(each, Forward)]
            for wrapped in wraps:
                of_it = [each for each in forwards if each.module == wrapped.module and each.index > wrapped.index]
                around = [each for each in of_it if not each.wrapped]
                through = [each for each in of_it if each.wrapped]
                if not around or not trace.implies(around[0], wrapped):
                    continue
                if through and not _by_itself(trace, around[0], through, step):
                    continue
                if not may_average(ranks, wrapped.module, around[0], step):
                    yield self._report(around, wrapped, partly=bool(through))

    def _report(self, forwards: list[Forward], wrapped: Wrapped, *, partly: bool) -> Finding:
        forward = forwards[0]
        said = "`{name}` trains around its DDP wrapper: gradients are not synchronised"
        partial = "on some paths `{name}` trains around its DDP wrapper: gradients stay apart"
        return self.finding(
            forward.site,
            message(partial if partly else said, name=forward.name),
            help="call the wrapped model",
            trail=(Step(wrapped.site, "the model is wrapped here"),),
            edits=_wrapped(forwards, wrapped),
        )


def _wrapped(forwards: list[Forward], wrapped: Wrapped) -> list[Attribute | Callee]:
    """Each forward through the wrapper: it holds what is called, or was made of what has this name."""
    if all(forward.name.endswith(".module") for forward in forwards):
        return [Attribute(forward.site, "") for forward in forwards]
    if all(forward.name == wrapped.name for forward in forwards):
        return [Callee(forward.site, wrapped.site) for forward in forwards]
    return []


def _by_itself(trace: Trace, around: Forward, through: list[Forward], step: Stepped) -> bool:
    """Whether no path that goes around the wrapper goes through it as well, and each of them comes to the step.

    A setting of the whole run may say that there is only one process.
    """
    kinds = {trace.branches[branch].kind for branch, _ in around.guards}
    apart = not any(trace.together(around, each) for each in through)
    return apart and trace.implies(around, step) and kinds.isdisjoint((BranchKind.FLAG, BranchKind.ASKED))
