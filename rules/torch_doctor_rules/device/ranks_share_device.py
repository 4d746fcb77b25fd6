"""TDR817: processes that all compute on the same GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Figure, Insert
from torch_doctor.rule import Finding, Fix, Level, Rule, Step
from torch_doctor.trace import Backward, GaveUp, GpuChosen, GroupBegun, Moved, Owned
from torch_doctor_rules.judging.causes import place
from torch_doctor_rules.judging.family import Family
from torch_doctor_rules.judging.wording import is_path, message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Trace

CURRENT = "current"
CHOOSE = "$torch.cuda.set_device({})"
LAUNCHED = 'int($os.environ["LOCAL_RANK"])'
STARTED = "{} % $torch.cuda.device_count()"


class RanksShareDevice(Rule):
    """Every process of a distributed run puts its model on the same GPU, while the others stand idle.

    ## Why is this bad?
    `.cuda()` and `"cuda"` mean the current GPU of the process, which is the first one until `torch.cuda.set_device` says
    otherwise, and `"cuda:0"` is the first one for all. So all processes of a machine compute on one GPU. NCCL refuses that
    at the first exchange ("Duplicate GPU detected"), or memory runs out; where neither happens, the run is no faster than
    on one GPU.

    ## Example
    ```python
    import os

    import torch
    from torch import nn
    from torch.nn.parallel import DistributedDataParallel

    torch.distributed.init_process_group("nccl")
    local_rank = int(os.environ["LOCAL_RANK"])
    model = DistributedDataParallel(nn.Linear(4, 1).cuda())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    for step in range(10):
        loss = model(torch.randn(16, 4).cuda()).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Use instead
    ```python
    import os

    import torch
    from torch import nn
    from torch.nn.parallel import DistributedDataParallel

    store = torch.distributed.HashStore()
    torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if torch.cuda.is_available() else torch.device("cpu")
    model = DistributedDataParallel(nn.Linear(4, 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    for step in range(10):
        loss = model(torch.randn(16, 4).to(device)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    torch.distributed.destroy_process_group()
    ```

    ## Fix safety
    The fix is unsafe, as the processes begin to use other GPUs. It sets the current GPU when the process has joined its
    group: to the number that the launcher gives, or to the rank modulo the number of GPUs where the script starts the
    processes itself. A model that is sent to `"cuda:0"` by name has no fix.

    ## How the probe confirms it
    It does not: on a machine without several GPUs nothing is shared.

    ## When it is not reported
    Where it is not known that several processes run on one machine: a launcher may give each a GPU of its own, as clusters
    do, and only a script that starts them itself, or asks for `LOCAL_RANK`, says otherwise. Where anything sets the current
    GPU, or may do so out of sight; where `CUDA_VISIBLE_DEVICES` is set; for gloo and MPI, which take one GPU for
    several processes; for models that are not trained; and for frameworks, which place the model themselves.

    ## References
    - https://docs.pytorch.org/docs/stable/distributed.html#launch-utility
    - https://docs.pytorch.org/docs/stable/generated/torch.cuda.set_device.html
    """

    code = "TDR817"
    name = "ranks-share-device"
    level = Level.ERROR
    witness = "S"
    fix = Fix.UNSAFE
    fix_changes = frozenset[Figure]()

    def check(self, trace: Trace) -> Iterator[Finding]:
        """The first move of a model that trains to a GPU that is the same in all processes."""
        if trace.observed or any(trace.of(kind) for kind in (Owned, GaveUp, GpuChosen)):
            return
        for group in trace.of(GroupBegun)[:1]:
            if group.beside and group.size != 1 and (not group.backend or "nccl" in group.backend):
                yield from self._reports(trace, group)

    def _reports(self, trace: Trace, group: GroupBegun) -> Iterator[Finding]:
        moves = [move for move in trace.of(Moved) if move.module and move.device == "cuda"]
        family = trace.view(Family)
        for move in moves:
            same = [each for each in moves if family.related((each.module,), (move.module,))]
            if all(each.gpu for each in same) and trace.together(move, group) and _trained(trace, family, move):
                yield self._report(move, group)
                return

    def _report(self, move: Moved, group: GroupBegun) -> Finding:
        local = STARTED.format(group.rank) if is_path(group.rank) else "" if group.rank else LAUNCHED
        mendable = move.gpu == CURRENT and local and move.index > group.index
        return self.finding(
            move.site,
            message("`{name}` goes to the same GPU in every process: the others stand idle", name=move.name),
            help="make the GPU with the number of the process on its machine the current one, or move it there",
            trail=(Step(group.site, "the processes join their group here"),),
            cause=place(group.site),
            edits=[Insert(group.site, CHOOSE.format(local), after=True)] if mendable else [],
        )


def _trained(trace: Trace, family: Family, move: Moved) -> bool:
    """Whether the module is trained where it was put."""
    return any(
        backward.index > move.index
        and family.related((move.module,), backward.modules)
        and trace.together(move, backward)
        for backward in trace.of(Backward)
    )
