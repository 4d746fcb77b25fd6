"""Executes broken parts as they were meant, so that what is behind them can be seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static import program as p
from torch_doctor.static.knowledge import Lasting
from torch_doctor.static.state import per_path, per_run
from torch_doctor.static.values import Fact, Optimizer, Value
from torch_doctor.trace import Meant, OptimizerBuilt

if TYPE_CHECKING:
    from torch_doctor.static.flow import Flow
    from torch_doctor.static.run import Run
    from torch_doctor.trace import Broken, Site


class Mending(Lasting):
    """The broken parts that a run executes as they were meant."""

    places: dict[Meant, frozenset[Site]] = per_run(dict)
    loss: Value | None = per_path()  # the last one, while it has not gone backward

    def mend(self, broken: frozenset[Broken]) -> None:
        """Execute these as they were meant."""
        for each in broken:
            self.places[each.meant] = self.places.get(each.meant, frozenset()) | {each.site}


def is_meant(run: Run, at: p.Node | Site | None, meant: Meant) -> bool:
    """Whether something else was meant at this place."""
    places = run.of(Mending).places
    if not places or at is None:
        return False
    return (run.site(at) if isinstance(at, p.Node) else at) in places.get(meant, ())


def called(run: Run, node: p.Expr, value: Value) -> Value:
    """What a method that is only named returns when it is called, where that was meant; else the method."""
    return run.evaluate(p.Call(node.at, node, (), ())) if is_meant(run, node, Meant.CALLED) else value


def taken(run: Run, flow: Flow) -> None:
    """Let the optimizers that were meant to have what goes backward have it."""
    for optimizer in run.objects.of(Optimizer) if run.of(Mending).places.get(Meant.TAKEN) else ():
        if is_meant(run, optimizer.born, Meant.TAKEN):
            modules = optimizer.modules | flow.modules
            run.heap.set(optimizer.facts, Fact.TAKEN, modules)
            for built in run.trace.of(OptimizerBuilt):
                if built.optimizer == optimizer.id:
                    run.trace.replace(built, modules=modules, lent=built.lent | (modules - built.modules))


def computed(run: Run, loss: Value) -> None:
    """Remember a loss that perhaps never goes backward, and was meant to."""
    known = run.of(Mending)
    if Meant.FILLED in known.places and loss.flow.graph is not False:
        known.loss = loss


def waiting(run: Run, node: p.Node) -> Value | None:
    """The loss that was meant to go backward before gradients are used here; None where there is none."""
    known = run.of(Mending)
    loss, known.loss = known.loss, None
    if loss is not None:
        run.trace.invented.add(run.site(node))
    return loss
