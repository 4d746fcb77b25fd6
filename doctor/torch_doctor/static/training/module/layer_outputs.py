"""What torch's layers return, as the tables declare it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from torch_doctor.static.flow import blend
from torch_doctor.static.language import operators
from torch_doctor.static.measuring import making
from torch_doctor.static.measuring.layers import packing
from torch_doctor.static.training import cross_device, pixels, places, plain_tensors
from torch_doctor.static.values import (
    NOWHERE,
    PACKED,
    Call,
    Content,
    Fact,
    Module,
    Params,
    Plain,
    Sequence,
    Tensor,
    Unknown,
    Value,
    unpacked,
)
from torch_doctor.trace import Kind

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run
    from torch_doctor.static.tables.layers import Layer
    from torch_doctor.trace import Site


def layer_output(run: Run, module: Module, table: Layer, call: Call) -> Value:
    """What one of torch's layers returns, by its table entry; one that is given packed sequences packs what it returns."""
    if call.args and unpacked(call.args[0]) is not call.args[0]:
        return _packed(run, layer_output(run, module, table, call.with_args((unpacked(call.args[0]), *call.args[1:]))))
    values = call.values
    flow = blend(value.flow for value in values)
    grad = run.grad
    if table.parameters and grad is not False and module.fact(Fact.FROZEN) is not True:
        flow = replace(flow, graph=grad, modules=flow.modules | {module.id})
    else:
        flow = operators.recorded(run, flow)
    first = call.argument(0) or next(iter(call.keywords.values()), None)
    short = module.layer.rpartition(".")[2]
    meta = None if first is None else making(f"nn.{short}", (first,), None, module)
    place = places.result(run, values[:1])
    if table.parameters:
        plain_tensors.combined(run, "", (*values, Params(frozenset((module.id,)))), call.node)
        cross_device.into_layer(run, module, first, call.node)
        own = module.fact(Fact.ORIGIN)
        place = own if places.is_away(run, own) or own is NOWHERE else place  # who moved it may have moved its input
        pixels.met(run, module, first)
    else:
        place = plain_tensors.combined(run, "", values, call.node) or place
    if table.kind is None:
        if isinstance(first, Tensor):
            return pixels.behind(module, first).altered(flow=flow, meta=meta).at(place)
        return Unknown(flow, first.holds if isinstance(first, Unknown) else frozenset(), origin=place)
    output = Tensor(flow, table.kind, place.by(module.layer, _kind_given_at(run, module, table, call.node)), meta=meta)
    if table.result == "tensor":
        return output
    last = None if first is None else making(f"nn.{short}.state", (first,), packing(first), module)
    state: Value = Tensor(flow, table.kind if last is not None else Kind.UNKNOWN, meta=last)
    if table.result == "recurrent":
        state = run.own(Sequence("tuple", Content((state, Tensor(flow, meta=last)))))
    return run.own(Sequence("tuple", Content((output, state))))


def _packed(run: Run, output: Value) -> Value:
    """What a layer returned, with its numbers in a `PackedSequence`; the states beside them are as they are."""
    first, *others = output.content.items if isinstance(output, Sequence) else (output,)
    packed: Value = run.own(Sequence(PACKED, Content((first, Plain(), Plain(), Plain()))))
    return run.own(Sequence("tuple", Content((packed, *others)))) if others else packed


def _kind_given_at(run: Run, module: Module, table: Layer, node: p.Node) -> Site | None:
    """Where an output got its kind: the layer's use in `forward`; in a Sequential its construction."""
    if table.kind in (Kind.LOGITS, Kind.HIDDEN, Kind.UNKNOWN):
        return None
    chained = (
        run.modules_called
        and run.modules_called[-1].layer == "torch.nn.Sequential"
        and run.modules_called[-1].cls is None
    )
    return module.born if chained else run.site(node)
