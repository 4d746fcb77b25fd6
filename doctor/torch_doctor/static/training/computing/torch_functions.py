"""Calls functions of torch that the tables know."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from torch_doctor.static.flow import blend
from torch_doctor.static.library import library_family
from torch_doctor.static.measuring import making
from torch_doctor.static.tables import functions, placing, torch_functions
from torch_doctor.static.training import cuts, pixels, plain_tensors
from torch_doctor.static.training.computing import tensors
from torch_doctor.static.training.data import array_calls
from torch_doctor.static.values import (
    FRESH,
    NOWHERE,
    PACKED,
    VOLATILE,
    Call,
    Const,
    Content,
    Origin,
    Plain,
    Sequence,
    Stream,
    Tensor,
    Unknown,
    Value,
    unpacked,
)
from torch_doctor.trace import (
    Kind,
    Source,
)

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.tables.function import Function


@library_family(torch_functions.FUNCTIONS)
def function(run: Run, name: str, call: Call) -> Value:
    """A function of torch that the tables know."""
    result = call_function(run, name, torch_functions.FUNCTIONS[name], call.with_args(tuple(map(unpacked, call.args))))
    if name in functions.PACKS:
        return run.own(Sequence(PACKED, Content((result, Plain(), Plain(), Plain())), run.site(call.node)))
    if name in placing.ANSWERS_ON_THE_CPU and isinstance(result, Stream):
        return run.own(Sequence("tuple", Content((result.item, Tensor(origin=FRESH))), run.site(call.node)))
    return result


def call_function(run: Run, name: str, known: Function, call: Call) -> Value:
    """Call a function of torch that the tables know."""
    needs = call.keywords.get("requires_grad")
    if needs is not None and isinstance(needs, Const) and needs.value:
        leading = call.argument(0)
        flow = cuts.cut(run, blend(value.flow for value in call.args[:1]), leading, name, call.node)
        if flow.source is Source.UNKNOWN and known.source is not None:
            flow = replace(flow, source=known.source)
        place = plain_tensors.of_factory(run, name, call) or NOWHERE
        meta = making(name.rpartition(".")[2], call.args, call.keywords)
        return cuts.leaf(run, flow, leading, call.node, origin=place, meta=meta)
    made = plain_tensors.of_factory(run, name, call) if known.source is not None else None
    short = name.rpartition(".")[2]
    dims = len(call.args) + len(call.keywords) - 1
    if short in functions.METHODS and functions.METHODS[short].scalar is not None:
        dims = max(0, dims)
    result = tensors.computed(run, short if short in ("log", "exp") else name, known, call, dims=dims)
    result = pixels.made(run, name, call, result)
    result = array_calls.labelled(call, result) if known.source is not None else result
    if (
        isinstance(result, Tensor)
        and short in tensors.JOINING
        and (result.kind is Kind.UNKNOWN or not result.origin.operation)
    ):
        result = result.altered(origin=result.origin.by(name, result.origin.site))
    if made is not None and isinstance(result, Tensor):
        result = result.at(made)
    for observe in run.observers.made[name]:
        observe(run, name, call, result)
    volatile = call.keywords.get("volatile")
    off = volatile is None or (isinstance(volatile, Const) and not volatile.value)
    if not off and isinstance(result, (Tensor, Unknown)):
        return Tensor(result.flow, Kind.BATCH, Origin(operation=VOLATILE))
    return result
