"""TDR812: a model that is moved after it was wrapped."""

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
    `DistributedDataParallel` inspects the parameters once, when it is created: it broadcasts them, allocates gradient buckets
    of their dtype on their device, and registers hooks for their gradients. After a move or a conversion, the buckets no
    longer match. Gradients are not averaged between processes, or the first backward pass fails. A model that is moved to
    the CPU, for example for saving, and back also loses the hooks, and continues training without an error.

    ## Example
    ```python
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
    ```diff
     torch.distributed.init_process_group("nccl")
    -model = DistributedDataParallel(nn.Linear(4, 1))
    -model.cuda()
    +model = DistributedDataParallel(nn.Linear(4, 1).cuda())
     optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    ```

    ## Fix safety
    The fix is unsafe because the processes then exchange gradients. It puts the move before the wrapping if both are
    statements of the same block. There is no fix for a model that is moved to the CPU and back.

    ## How the probe confirms it
    The module is moved or converted after it was wrapped, and is then trained. With several processes
    (`--probe-processes 2`), the probe also reports by how much their gradients differ.

    ## When it is not reported
    - For a second move to the device that the model is on.
    - For a move to the CPU, if the model is not moved back.
    - If no training follows.

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
        """Yield a finding for every move of a wrapped module before it is trained."""
        moves = Moves(trace)
        yield from first_per_site(
            self._report(move, wrapped, moves.left(move))
            for wrapped in trace.of(Wrapped)
            if wrapped.wrapper == WRAPPER
            for move in moves.after(wrapped, frozenset((wrapped.module,)), back=True)
        )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Return whether the move happened before the module was wrapped."""
        moves = at(trace, finding.site, Moved)
        wraps = [wrapped.index for wrapped in trace.of(Wrapped) if wrapped.wrapper == WRAPPER]
        if not moves or not wraps:
            return "no model is wrapped in this run" if moves else False
        return (
            all(move.index < min(wraps) for move in moves)
            or "the model was already on this device, or is not trained after the move"
        )

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """Yield how many moves came after the wrapping, and whether gradients differ."""
        wraps = [wrapped.index for wrapped in trace.of(Wrapped) if wrapped.wrapper == WRAPPER]
        moves = at(trace, finding.site, Moved)
        late = sum(bool(wraps) and move.index > min(wraps) for move in moves)
        yield fact(f"{late} of {count(len(moves), 'move')} came after the model was wrapped", late, "moves")
        for module in dict.fromkeys(move.module for move in moves):
            yield from trace.view(Ranks).difference(module)

    def _report(self, move: Moved, wrapped: Wrapped, left: Moved | None) -> Finding:
        comes_back = left is not None and left.index > wrapped.index
        mendable = is_path(move.name) and is_path(wrapped.name) and not comes_back
        went = (Step(left.site, "it is moved to the CPU here"),) if left is not None and comes_back else ()
        return self.finding(
            move.site,
            message("`{name}` is moved after it was wrapped in DDP: gradients are not synchronized", name=move.name),
            help="move or convert a copy instead" if comes_back else "move or convert the model before wrapping it",
            trail=(Step(wrapped.site, "the model is wrapped here"), *went),
            edits=[Move(move.site, wrapped.site, called=(move.name, wrapped.name))] if mendable else [],
        )
