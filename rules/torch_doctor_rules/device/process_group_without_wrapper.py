"""TDR814: several processes that train separate models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule, Step
from torch_doctor.trace import Clipped, Forward, GaveUp, GroupBegun, Owned, Wrapped
from torch_doctor_rules.judging.causes import place
from torch_doctor_rules.judging.evidence import at
from torch_doctor_rules.judging.exchanges import may_send, shared, trained
from torch_doctor_rules.judging.ranks import Ranks
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Trace

ALONE = "the run has only one process (see `--probe-processes`)"


class ProcessGroupWithoutWrapper(Rule):
    """Several processes train without exchanging gradients, so each of them trains its own model.

    ## Why is this bad?
    A process group only makes communication possible. Without `DistributedDataParallel`, FSDP or an `all_reduce` of every
    gradient, each process trains its own model, on its own part of the data if the data is split. The saved model is that of
    a single process, and was trained on that part only.

    ## Example
    ```python
    torch.distributed.init_process_group("gloo")
    dataset = TensorDataset(torch.randn(64, 4), torch.randn(64, 1))
    sampler = DistributedSampler(dataset)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    for epoch in range(3):
        sampler.set_epoch(epoch)
        for x, y in DataLoader(dataset, batch_size=8, sampler=sampler):
            loss = nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    ```

    ## Use instead
    ```diff
     sampler = DistributedSampler(dataset)
    -model = nn.Linear(4, 1)
    +model = DistributedDataParallel(nn.Linear(4, 1))
     optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    ```

    ## How the probe confirms it
    With several processes (`--probe-processes 2`), the probe compares their gradients at the optimizer step, and they differ.
    If the gradients are equal although the losses differ, something exchanges them, and the finding is refuted. With a single
    process, the finding is undecided.

    ## When it is not reported
    - If the processes exchange anything other than single numbers for logging, for example by `all_reduce`, RPC or averaged
      weights, or if a function that is not executed may do so.
    - If the model or the optimizer is passed to code that is not analyzed, or the script changes gradients itself.
    - For libraries that exchange gradients, such as DeepSpeed, Horovod, accelerate and Lightning.
    - If the model is wrapped on some path.
    - For process groups of one process, and for processes that join none.

    ## References
    - https://docs.pytorch.org/docs/stable/distributed.html
    - https://docs.pytorch.org/tutorials/intermediate/ddp_tutorial.html
    """

    code = "TDR814"
    name = "process-group-without-wrapper"
    level = Level.ERROR
    witness = "SP"
    needs = frozenset({"synchrony"})
    compares_ranks = True

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Yield a finding for the training forward of every model whose gradients are not exchanged."""
        if not any(trace.of(kind) for kind in (Owned, GaveUp)):
            yield from first_per_site(self._differing(trace) if trace.observed else self._found(trace))

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Return whether the processes stepped with the same gradients although their losses differ."""
        forwards, ranks = at(trace, finding.site, Forward), trace.view(Ranks)
        if not forwards:
            return False
        if not ranks:
            return ALONE
        exchanged = all(forward.wrapped or ranks.averaged(forward.module) for forward in forwards)
        return exchanged or "in no optimizer step could gradients be compared between processes"

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """Yield by how much gradients differ, or that they are equal."""
        ranks = trace.view(Ranks)
        for module in list(dict.fromkeys(forward.module for forward in at(trace, finding.site, Forward)))[:1]:
            yield from ranks.difference(module)
            yield from ranks.sameness(module)

    def _differing(self, trace: Trace) -> Iterator[Finding]:
        ranks, wrapped = trace.view(Ranks), {event.module for event in trace.of(Wrapped)}
        for forward, _ in trained(trace):
            apart = ranks.apart(forward.module)
            if apart is not None and apart.real and forward.module not in wrapped:
                yield self._report(forward, None)

    def _found(self, trace: Trace) -> Iterator[Finding]:
        for group in trace.of(GroupBegun)[:1]:
            if group.size == 1 or any(clip.manual for clip in trace.of(Clipped)) or may_send(trace, group):
                return
            for forward, step in trained(trace):
                inside = forward.index > group.index and trace.together(forward, group)
                known = bool(forward.class_name) and not forward.wrapped
                if inside and known and not shared(trace, forward, step):
                    yield self._report(forward, group)

    def _report(self, forward: Forward, group: GroupBegun | None) -> Finding:
        return self.finding(
            forward.site,
            message("`{name}` is trained separately in each process: gradients are never averaged", name=forward.name),
            help="wrap the model in `DistributedDataParallel`, which averages gradients between processes",
            trail=() if group is None else (Step(group.site, "the process group is initialized here"),),
            cause="" if group is None else place(group.site),
        )
