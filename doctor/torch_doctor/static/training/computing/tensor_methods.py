"""Methods of tensors, and of what carries one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from torch_doctor.static import program as p
from torch_doctor.static.language import opaque_calls, targets
from torch_doctor.static.measuring import making
from torch_doctor.static.tables import functions
from torch_doctor.static.tables.methods import MOVES
from torch_doctor.static.training import cuts, pixels, places
from torch_doctor.static.training.computing import tensors
from torch_doctor.static.training.graph import keeping
from torch_doctor.static.training.update import gradient_hooks, parameters
from torch_doctor.static.values import (
    NOWHERE,
    Call,
    Const,
    Method,
    ParameterValue,
    Tensor,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from torch_doctor.static.run import Run


def tensor_method(run: Run, of: Value, name: str, call: Call) -> Value:
    """A method of a tensor, or of something that carries one."""
    call = call.in_words(functions.NUMPY_NAMES)
    if name in ("requires_grad_", "retain_grad"):
        on = call.argument(0, "requires_grad")
        if name == "requires_grad_" and isinstance(of, ParameterValue):
            parameters.set_trainable(run, frozenset((of.id,)), on or Const(value=True), call.node, whole=True)
        gathers = not (isinstance(on, Const) and not on.value)
        if name == "requires_grad_" and gathers and isinstance(of, Tensor) and of.flow.graph is False:
            leaf = cuts.leaf(run, of.flow, of, call.node, origin=of.origin, meta=of.meta)
            where = (
                call.node.func.value
                if isinstance(call.node, p.Call) and isinstance(call.node.func, p.Attribute)
                else None
            )
            if isinstance(where, (p.Name, p.Attribute, p.Index)):
                targets.bind(run, where, leaf, call.node)
            return leaf
        return of
    if isinstance(of, ParameterValue):
        if name == "detach_":
            parameters.set_trainable(run, frozenset((of.id,)), Const(value=False), call.node, whole=True)
            return of
        gradient_hooks.registered(run, name)
        if name.endswith("_") and not name.startswith("_"):
            for observe in run.observers.changed:
                observe(run, of, call.renamed(f"{call.receiver}.{name}"))
            parameters.changed_by_hand(run, frozenset((of.id,)), call.args, call.node)
            return of
        if name in MOVES:
            return _moved_without_gradients(run, parameters.moved(of, name, call))
        of = Tensor(of.flow, origin=NOWHERE if of.declared else of.origin, meta=making("parameter", (of,)))
    known = functions.METHODS.get(name)
    assert isinstance(of, (Tensor, Unknown))
    if known is None:
        return (
            opaque_calls.opaque(run, Method(of, name), call.renamed(call.receiver))
            if not isinstance(of, Tensor)
            else Unknown(of.flow)
        )
    result = tensors.method(run, of, name, known, call)
    if known.in_place:
        keeping.stored(run, result, call.node)
        pixels.changed(run, of)
        _changed_through_data(run, result, call.node)
        if not known.graph and isinstance(result, Tensor):
            run.heap.change(of, result)  # `detach_`: whoever has it has it without its graph
    if name in MOVES and isinstance(result, (Tensor, Unknown)):
        place = places.moved(run, of, name, call)
        if isinstance(result, Tensor):
            result = _moved_without_gradients(run, result)
        if isinstance(result, Unknown) and result is not of:
            result = Unknown(result.flow, result.holds, origin=place)
        elif isinstance(result, Tensor) and result is not of:
            result = result if result.origin.fresh else result.at(place)
            single = isinstance(of, Tensor) and of.scalar is True
            result = result.altered(scalar=True) if single else result
    return result


def _moved_without_gradients(run: Run, value: Tensor) -> Tensor:
    """What a move gives under `no_grad`: a copy has no graph, and what was there already keeps it."""
    if run.grad is not False or value.flow.graph is not True:
        return value
    return value.altered(flow=replace(value.flow, graph=None))


def _changed_through_data(run: Run, result: Value, node: p.Node) -> None:
    """`x.data.clamp_(...)` changes the numbers of `x`, whose graph stays."""
    target = node.func.value if isinstance(node, p.Call) and isinstance(node.func, p.Attribute) else None
    if not isinstance(target, p.Attribute) or target.name != "data" or not isinstance(target.value, p.Name):
        return
    base = run.resolve(run.evaluate(target.value))
    if isinstance(base, Tensor) and isinstance(result, Tensor):
        place = base.origin.by(result.origin.operation, result.origin.site)
        run.heap.change(base, base.altered(kind=result.kind, origin=place))
