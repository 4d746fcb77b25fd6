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
    """Every process of a distributed run moves its model to the same GPU, while the other GPUs are idle.

    ## Why is this bad?
    `.cuda()` and `"cuda"` refer to the current GPU of the process, which is the first one unless `torch.cuda.set_device`
    selects another. `"cuda:0"` is the first GPU in every process. All processes on a machine therefore compute on one GPU.
    NCCL rejects this at the first communication ("Duplicate GPU detected"), or the GPU runs out of memory. If neither
    happens, the run is no faster than on a single GPU.

    ## Example
    ```python
    torch.distributed.init_process_group()
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
    ```diff
     local_rank = int(os.environ["LOCAL_RANK"])
    -model = DistributedDataParallel(nn.Linear(4, 1).cuda())
    +device = torch.device("cuda", local_rank) if torch.cuda.is_available() else torch.device("cpu")
    +model = DistributedDataParallel(nn.Linear(4, 1).to(device))
     optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    ...
     for step in range(10):
    -    loss = model(torch.randn(16, 4).cuda()).square().mean()
    +    loss = model(torch.randn(16, 4).to(device)).square().mean()
         optimizer.zero_grad()
    ```

    ## Fix safety
    The fix is unsafe because the processes then use other GPUs. It sets the current GPU after the process group is
    initialized: to `LOCAL_RANK`, or to the rank modulo the number of GPUs if the script starts its processes itself. There
    is no fix for a model that is moved to `"cuda:0"` explicitly.

    ## How the probe confirms it
    It does not: this would require a machine with several GPUs.

    ## When it is not reported
    - If the script neither starts its processes itself nor reads `LOCAL_RANK`. It is then unknown whether several processes
      run on one machine, and the launcher of a cluster may give each of them its own GPU.
    - If anything sets the current GPU, or code that is not analyzed may do so.
    - If `CUDA_VISIBLE_DEVICES` is set.
    - For the gloo and MPI backends, which allow several processes to use one GPU.
    - For models that are not trained, and for frameworks, which place the model themselves.

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
        """Yield a finding for the first move of a trained model to the same GPU in all processes."""
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
            message("`{name}` is moved to the same GPU in every process: the other GPUs are idle", name=move.name),
            help="select a GPU for each process by its local rank, for example with `torch.cuda.set_device`",
            trail=(Step(group.site, "the process group is initialized here"),),
            cause=place(group.site),
            edits=[Insert(group.site, CHOOSE.format(local), after=True)] if mendable else [],
        )


def _trained(trace: Trace, family: Family, move: Moved) -> bool:
    """Return whether the module is trained on the device it was moved to."""
    return any(
        backward.index > move.index
        and family.related((move.module,), backward.modules)
        and trace.together(move, backward)
        for backward in trace.of(Backward)
    )
