"""TDR814: several processes that train, each a model of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule, Step
from torch_doctor.trace import (
    Backward,
    Clipped,
    Escaped,
    Exchanged,
    Forward,
    GaveUp,
    GroupBegun,
    Owned,
    Stepped,
    Wrapped,
)
from torch_doctor_rules.judging.causes import place
from torch_doctor_rules.judging.evidence import at, fact
from torch_doctor_rules.judging.family import Family
from torch_doctor_rules.judging.ranks import Ranks
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Trace

OF_THREADS = "torch.nn.DataParallel"
"""A wrapper that works within one process."""
AT_FIRST = ("broadcast", "broadcast_object_list", "scatter", "broadcast_coalesced")
"""What makes the processes begin alike, where it stands before training."""
ALONE = "the run has one process (see `--probe-processes`)"


class ProcessGroupWithoutWrapper(Rule):
    """Several processes join a group and train, and nothing exchanges their gradients: each has a model of its own.

    ## Why is this bad?
    A group of processes only makes an exchange possible. Without `DistributedDataParallel`, FSDP or an `all_reduce` of every
    gradient each process trains a model of its own, on its part of the data if that is split. What is saved is the model of
    one of them, which has seen that part alone.

    ## Example
    ```python
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

    torch.distributed.init_process_group("gloo")
    torch.manual_seed(0)
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
    ```python
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

    store = torch.distributed.HashStore()
    torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    torch.manual_seed(0)
    dataset = TensorDataset(torch.randn(64, 4), torch.randn(64, 1))
    sampler = DistributedSampler(dataset)
    model = nn.parallel.DistributedDataParallel(nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    for epoch in range(3):
        sampler.set_epoch(epoch)
        for x, y in DataLoader(dataset, batch_size=8, sampler=sampler):
            loss = nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    torch.distributed.destroy_process_group()
    ```

    ## How the probe confirms it
    In several processes (`--probe-processes 2`) it compares the gradients with which they step the model: they differ. Where
    they are the same although the losses differ, something exchanges them, and the finding is refuted. In one process it is
    undecided.

    ## When it stays silent
    Where anything is sent between processes but single numbers to log, `all_reduce`, RPC and averaged weights among it, or may
    be sent by a function of the files that is not executed; where the model or the optimizer goes out of sight, or the script
    changes gradients itself; for libraries that exchange gradients (DeepSpeed, Horovod, accelerate, Lightning and their
    like); where the model is wrapped on some path; for groups of one process, and for processes that join none.

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
        """The training forward of every model that no process shares with the others."""
        if not any(trace.of(kind) for kind in (Owned, GaveUp)):
            yield from first_per_site(self._differing(trace) if trace.observed else self._found(trace))

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether the processes stepped with the same gradients, of different losses."""
        forwards, ranks = at(trace, finding.site, Forward), trace.view(Ranks)
        if not forwards:
            return False
        if not ranks:
            return ALONE
        exchanged = all(forward.wrapped or ranks.averaged(forward.module) for forward in forwards)
        return exchanged or "no step was seen of which gradients could be compared between the processes"

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """By how much gradients differ, or that they do not."""
        ranks = trace.view(Ranks)
        for module in list(dict.fromkeys(forward.module for forward in at(trace, finding.site, Forward)))[:1]:
            yield from ranks.difference(module)
            if ranks.averaged(module):
                yield fact(f"{ranks.all()} step with the same gradients, of different losses", 0, "gradients")

    def _differing(self, trace: Trace) -> Iterator[Finding]:
        ranks, wrapped = trace.view(Ranks), {event.module for event in trace.of(Wrapped)}
        for forward, _ in _trained(trace):
            apart = ranks.apart(forward.module)
            if apart is not None and apart.real and forward.module not in wrapped:
                yield self._report(forward, None)

    def _found(self, trace: Trace) -> Iterator[Finding]:
        for group in trace.of(GroupBegun)[:1]:
            if group.size == 1 or any(clip.manual for clip in trace.of(Clipped)) or _may_send(trace, group):
                return
            for forward, step in _trained(trace):
                inside = forward.index > group.index and trace.together(forward, group)
                known = bool(forward.class_name) and not forward.wrapped
                if inside and known and not _shared(trace, forward, step):
                    yield self._report(forward, group)

    def _report(self, forward: Forward, group: GroupBegun | None) -> Finding:
        return self.finding(
            forward.site,
            message("`{name}` trains in each process by itself: nothing exchanges gradients", name=forward.name),
            help="wrap it for several processes, so that they average their gradients",
            trail=() if group is None else (Step(group.site, "the processes join their group here"),),
            cause="" if group is None else place(group.site),
        )


def _trained(trace: Trace) -> Iterator[tuple[Forward, Stepped]]:
    """The forwards that are gone back through before a step of an optimizer, with that step."""
    family = trace.view(Family)
    for backward in trace.of(Backward):
        steps = [step for step in trace.of(Stepped) if step.index > backward.index and not step.manual]
        forwards = trace.at(*sorted(backward.loss.graph_forwards)) if backward.through == "backward" else ()
        for forward in forwards:
            if isinstance(forward, Forward) and family.related((forward.module,), backward.modules):
                step = next((each for each in steps if family.related((forward.module,), each.modules)), None)
                if step is not None:
                    yield forward, step


def _may_send(trace: Trace, group: GroupBegun) -> bool:
    """Whether anything is sent between the processes, or may be, beside single numbers and what makes them begin alike."""
    sent = trace.of(Exchanged)
    if group.exchanges - {event.site for event in sent}:
        return True
    first = min((backward.index for backward in trace.of(Backward)), default=0)
    return any(
        event.numbers != 1 and not (event.index < first and event.function.rpartition(".")[2] in AT_FIRST)
        for event in sent
    )


def _shared(trace: Trace, forward: Forward, step: Stepped) -> bool:
    """Whether a wrapper has the model, or it or its optimizer went where something may exchange its gradients."""
    family, module = trace.view(Family), (forward.module,)
    if any(each.wrapper != OF_THREADS and family.related((each.module,), module) for each in trace.of(Wrapped)):
        return True
    return any(
        not event.builds
        and (
            step.optimizer in event.optimizers
            or family.related(event.modules, module)
            or forward.index in event.forwards
        )
        for event in trace.of(Escaped)
    )
