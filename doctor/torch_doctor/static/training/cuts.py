"""Where the graph of a value is cut, and where something without one is made to require gradients again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from torch_doctor.static.domains import constants
from torch_doctor.static.tables.shapes import ALLOCATORS
from torch_doctor.static.values import NOWHERE, Fact, ParameterValue, Tensor
from torch_doctor.trace import GraphCut, LeafMade, ParameterCut

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.flow import Flow
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Origin, Value
    from torch_doctor.static.values.shapes import Making, Meta, Returned


def cut(run: Run, flow: Flow, of: Value | None, how: str, node: p.Node) -> Flow:
    """The flow without its graph; that a graph through a forward, or of a parameter, ended here is an event."""
    only_size = how.rpartition(".")[2] in ALLOCATORS
    for number in flow.modules if run.modules_called and not only_size else ():
        if (thing := run.objects.get(number)) is not None:
            run.heap.set(thing.facts, Fact.CUT, value=True)
    if flow.graph is not True or not flow.graph_forwards:
        taken = None if of is None else constants.computed_of(run, of)
        if taken is not None and taken.declared and flow.graph is True:
            cut_off = run.emit(ParameterCut, node, how=how.rpartition(".")[2], parameter=taken.id, text=run.text(node))
            return replace(flow.cut(), cuts=flow.cuts | {cut_off.index})
        return flow.cut()
    fact = run.fact(of.with_flow(flow) if isinstance(of, Tensor) else Tensor(flow))
    event = run.emit(GraphCut, node, how=how.rpartition(".")[2], value=fact)
    return replace(flow.cut(), cuts=flow.cuts | {event.index})


def leaf(
    run: Run,
    flow: Flow,
    of: Value | None,
    where: p.Node,
    *,
    made: bool = True,
    origin: Origin = NOWHERE,
    meta: Meta | Making | Returned | None = None,
) -> ParameterValue:
    """A tensor with the data of `flow` that requires gradients; `made`: it is new, and not one that was there before.

    `origin` is where its data comes from, and `meta` how it was made.
    """
    behind = [event for event in run.trace.at(*flow.cuts) if isinstance(event, GraphCut)]
    flow = replace(flow, forwards=flow.forwards.union(*(event.value.forwards for event in behind))) if behind else flow
    born = run.site(where) if made else None
    new: ParameterValue = run.own(ParameterValue(born, declared=False, flow=flow, origin=origin))
    if meta is not None:
        run.heap.set(new.facts, Fact.MADE, meta)
    if behind:
        fact = run.fact(of.with_flow(flow) if isinstance(of, Tensor) else Tensor(flow))
        run.emit(LeafMade, where, leaf=new.id, value=fact)
    return new
