"""TDR812: a model that moves away from under its wrapper."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Figure, Move
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule, Step
from torch_doctor.trace import Moved, Wrapped
from torch_doctor_rules.judging.evidence import at, count, fact
from torch_doctor_rules.judging.moves import Moves
from torch_doctor_rules.judging.ranks import Ranks
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import is_path, message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Trace

WRAPPER = "torch.nn.parallel.DistributedDataParallel"


class MovedAfterWrap(Rule):
    """The model is moved or converted after it was wrapped in `DistributedDataParallel`.

    ## Why is this bad?
    `DistributedDataParallel` looks at the parameters once: it broadcasts them, makes buckets for their gradients in
    their dtype and on their device, and hooks itself into their gradients. After a move or a conversion those buckets fit
    no more, and gradients are not averaged between the processes, or an error comes at the first backward pass. A model that
    goes to the CPU, as for saving, and comes back has lost the hooks as well, and trains on without a word.

    ## Example
    ```python
    import torch
    from torch import nn
    from torch.nn.parallel import DistributedDataParallel

    torch.distributed.init_process_group("nccl")
    model = DistributedDataParallel(nn.Linear(4, 1))
    model.cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

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

    device = "cuda" if torch.cuda.is_available() else "cpu"
    store = torch.distributed.HashStore()
    torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
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
    The fix is unsafe, as the processes begin to exchange gradients. It moves the model before it is wrapped, where both are
    statements of one block. A model that comes back from the CPU has no fix.

    ## How the probe confirms it
    The module is moved or converted after it was wrapped, and is then trained. In several processes
    (`--probe-processes 2`) it also says by how much their gradients differ.

    ## When it is not reported
    For a second move to where the model is, for moves to the CPU from which it does not come back, and where no training
    follows.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html
    """

    code = "TDR812"
    name = "moved-after-wrap"
    level = Level.ERROR
    witness = "SP"
    fix = Fix.UNSAFE
    fix_changes = frozenset[Figure]()
    needs = frozenset({"synchrony"})
    compares_ranks = True

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every move of a wrapped module before it is trained."""
        moves = Moves(trace)
        yield from first_per_site(
            self._report(move, wrapped, moves.left(move))
            for wrapped in trace.of(Wrapped)
            if wrapped.wrapper == WRAPPER
            for move in moves.after(wrapped, frozenset((wrapped.module,)), back=True)
        )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether the move happened before the module was wrapped."""
        moves = at(trace, finding.site, Moved)
        wraps = [wrapped.index for wrapped in trace.of(Wrapped) if wrapped.wrapper == WRAPPER]
        if not moves or not wraps:
            return "this run wraps no model" if moves else False
        return (
            all(move.index < min(wraps) for move in moves)
            or "the model was on this device before, or is not trained after the move"
        )

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How many moves came after the wrapping, and whether gradients differ."""
        wraps = [wrapped.index for wrapped in trace.of(Wrapped) if wrapped.wrapper == WRAPPER]
        moves = at(trace, finding.site, Moved)
        late = sum(bool(wraps) and move.index > min(wraps) for move in moves)
        yield fact(f"{late} of {count(len(moves), 'move')} came after the model was wrapped", late, "moves")
        for module in dict.fromkeys(move.module for move in moves):
            yield from trace.view(Ranks).difference(module)

    def _report(self, move: Moved, wrapped: Wrapped, left: Moved | None) -> Finding:
        comes_back = left is not None and left.index > wrapped.index
        mendable = is_path(move.name) and is_path(wrapped.name) and not comes_back
        went = (Step(left.site, "it goes to the CPU here"),) if left is not None and comes_back else ()
        return self.finding(
            move.site,
            message("`{name}` is moved after DDP wrapped it: gradients are no longer synchronised", name=move.name),
            help="move or convert a copy" if comes_back else "move or convert the model before it is wrapped",
            trail=(Step(wrapped.site, "the model is wrapped here"), *went),
            edits=[Move(move.site, wrapped.site, called=(move.name, wrapped.name))] if mendable else [],
        )
