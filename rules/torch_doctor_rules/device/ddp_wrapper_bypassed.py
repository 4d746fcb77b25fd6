"""TDR811: training bypasses the wrapper that synchronizes gradients."""

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
WRAPPERS = frozenset((WRAPPER, "accelerate"))


class DdpWrapperBypassed(Rule):
    """Training calls the module inside `DistributedDataParallel`, so gradients are not synchronized.

    ## Why is this bad?
    The wrapper's `forward` sets up the averaging of gradients between processes. If you call `ddp.module`, or the model by
    its old name, the outputs are the same but gradients are not averaged. Each process trains its own model on its own part
    of the data, the models diverge, and the saved model is that of a single process. The same holds for a model that
    `accelerator.prepare` returns: `unwrap_model`, and the model by its old name, bypass it.

    ## Example
    ```python
    torch.distributed.init_process_group("gloo")
    model = nn.Linear(4, 1).to(device)
    ddp = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(ddp.parameters(), lr=0.1)

    for step in range(10):
        loss = model(torch.randn(16, 4).to(device)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Use instead
    ```diff
     for step in range(10):
    -    loss = model(torch.randn(16, 4).to(device)).square().mean()
    +    loss = ddp(torch.randn(16, 4).to(device)).square().mean()
         optimizer.zero_grad()
    ```

    ## Fix safety
    The fix is unsafe because the processes then exchange gradients, and all of them have to do so equally often.

    ## How the probe confirms it
    After the model is wrapped, a training forward is called on the inner module. With several processes
    (`--probe-processes 2`), the probe compares their gradients at the step: it confirms the finding if they differ, and refutes
    it if something else averaged them. With a single process, the finding is undecided if the script sends data between
    processes between the forward and the step.

    ## When it is not reported
    - For evaluation, saving and other uses of `.module` without training.
    - If an option decides whether the model is wrapped.
    - If the same step also uses the wrapper.
    - If the script changes the gradients itself, for example with `all_reduce`.

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
        """Yield a finding for every training forward that bypasses an existing wrapper."""
        wraps = [wrapped for wrapped in trace.of(Wrapped) if wrapped.wrapper in WRAPPERS]
        by_hand = any(clip.manual for clip in trace.of(Clipped))
        owned = any(event.framework not in WRAPPERS for event in trace.of(Owned))
        if wraps and not by_hand and not owned and not trace.of(GaveUp):
            yield from first_per_site(self._reports(trace, wraps))

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Return whether this forward uses the wrapper."""
        forwards = at(trace, finding.site, Forward)
        averaged = trace.view(Ranks).averaged
        if all(forward.wrapped or averaged(forward.module) for forward in forwards):
            return bool(forwards)
        if not any(wrapped.wrapper in WRAPPERS for wrapped in trace.of(Wrapped)):
            return "no model is wrapped in this run"
        return "this call was not trained, or the script exchanges gradients itself (see `--probe-processes`)"

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """Yield how many of these forwards bypass the wrapper, and how gradients differ."""
        forwards = at(trace, finding.site, Forward)
        around = sum(not forward.wrapped for forward in forwards)
        yield fact(f"{around} of {count(len(forwards), 'forward')} bypassed the wrapper", around, "forwards")
        for module in dict.fromkeys(forward.module for forward in forwards):
            yield from trace.view(Ranks).difference(module)
            yield from trace.view(Ranks).sameness(module)

    def _reports(self, trace: Trace, wraps: list[Wrapped]) -> Iterator[Finding]:
        ranks = trace.view(Ranks)
        for backward in trace.of(Backward):
            step = applied(trace, backward)
            if step is None or backward.through.rpartition(".")[2] != "backward":
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
        by = "DDP" if wrapped.wrapper == WRAPPER else "prepared"
        text = f"`{{name}}` bypasses its {by} wrapper in training: gradients are not synchronized"
        partial = f"`{{name}}` bypasses its {by} wrapper on some paths: gradients are not synchronized there"
        return self.finding(
            forward.site,
            message(partial if partly else text, name=forward.name),
            help="call the wrapped model instead",
            trail=(Step(wrapped.site, "the model is wrapped here"),),
            edits=_wrapped(forwards, wrapped) if wrapped.wrapper == WRAPPER else [],
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
