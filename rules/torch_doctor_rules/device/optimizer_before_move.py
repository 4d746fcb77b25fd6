"""TDR804: the model is moved after the optimizer is created."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Figure, Move
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule, Step
from torch_doctor.trace import Escaped, ModuleBuilt, Moved, OptimizerBuilt, Stepped, Wrapped
from torch_doctor_rules.judging.evidence import at, count, fact
from torch_doctor_rules.judging.moves import Moves
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message, named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Trace

SHARDED = "torch.distributed.fsdp.FullyShardedDataParallel"


class OptimizerBeforeMove(Rule):
    """The model is moved or sharded after the optimizer got its parameters.

    ## Why is this bad?
    An optimizer holds references to the parameters it was given. torch usually moves parameters in place, but not always:
    with `torch.__future__.set_overwrite_module_params_on_conversion`, on XLA devices and for sharded models, the moved model
    has new parameters, and the optimizer still updates the old ones. Optimizer state that was created before the move stays
    on the old device. PyTorch's documentation recommends moving the model first.

    ## Example
    ```python
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model.to(torch.device("cuda" if torch.cuda.is_available() else "cpu"))

    for step in range(10):
        x = torch.randn(16, 4).to(next(model.parameters()).device)
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
    ```

    ## Use instead
    ```diff
     model = nn.Linear(4, 1)
    +model.to(torch.device("cuda" if torch.cuda.is_available() else "cpu"))
     optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    -model.to(torch.device("cuda" if torch.cuda.is_available() else "cpu"))
    ```

    ## Fix safety
    The fix is unsafe: it puts the move before the creation of the optimizer, and so before any code in between. It is offered
    only if both are statements of the same block.

    ## How the probe confirms it
    The move happens after an optimizer with parameters of the model is created, and this optimizer steps later.

    ## When it is not reported
    - For a second move to the device that the model is on.
    - For moves to the CPU, for example for saving.
    - If no training follows.

    ## References
    - https://docs.pytorch.org/docs/stable/optim.html#constructing-it
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.cuda
    """

    code = "TDR804"
    name = "optimizer-before-move"
    level = Level.ADVICE
    witness = "SP"
    fix = Fix.UNSAFE
    fix_changes = frozenset({Figure.UPDATES})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Yield a finding for every move between an optimizer's creation and its first step."""
        yield from first_per_site(
            self._report(event, built) for built in trace.of(OptimizerBuilt) for event in self._late(trace, built)
        )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Return whether the move happened before every optimizer was created."""
        moves = [*at(trace, finding.site, Moved), *at(trace, finding.site, Wrapped)]
        if not moves or not trace.of(Stepped):
            return False
        if any(built.index < moves[0].index for built in trace.of(OptimizerBuilt)):
            return "the model was already on this device, or stays on the CPU in this run"
        return True

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """Yield how many optimizers were created before the move."""
        first = next(iter([*at(trace, finding.site, Moved), *at(trace, finding.site, Wrapped)]), None)
        older = sum(first is not None and built.index < first.index for built in trace.of(OptimizerBuilt))
        yield fact(f"{count(older, 'optimizer')} created before the move", older, "optimizers")

    def _late(self, trace: Trace, built: OptimizerBuilt) -> Iterator[Moved | Wrapped]:
        steps = [step.index for step in trace.of(Stepped) if step.optimizer == built.optimizer]
        moves = Moves(trace)
        made = {event.module for event in trace.of(ModuleBuilt)}
        for event in trace.of(Escaped):
            if event.index < built.index:
                made -= event.modules  # it may be there already
        yield from (
            move
            for move in moves.after(built, built.modules, anywhere=True)
            if steps and move.index < steps[0] and (trace.observed or move.module in made)
        )
        for wrapped in trace.of(Wrapped):
            late = wrapped.wrapper == SHARDED and steps and built.index < wrapped.index < steps[0]
            if late and moves.family.related((wrapped.module,), built.modules):
                yield wrapped

    def _report(self, event: Moved | Wrapped, built: OptimizerBuilt) -> Finding:
        return self.finding(
            event.site,
            message(
                "`{name}` is moved after the optimizer got its parameters: it may update stale ones",
                name=named(event.name, "the model"),
            ),
            help="move the model first, then create the optimizer",
            trail=(Step(built.site, "the optimizer gets the parameters here"),),
            edits=[Move(event.site, built.site)] if isinstance(event, Moved) else [],
        )
