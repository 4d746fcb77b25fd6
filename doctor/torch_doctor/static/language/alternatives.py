"""Arithmetic with one of several tensors, of which the path decides which it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.measuring import making
from torch_doctor.static.values import Const, Either, Grads, Making, ParameterValue, Params, Plain, Tensor
from torch_doctor.trace import Kind

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.flow import Flow
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Value

ARITHMETIC = (Tensor, ParameterValue, Params, Grads, Const, Plain)
"""What arithmetic with tensors gives a tensor of."""


def operated(run: Run, op: str, operands: tuple[Value, ...], flow: Flow, node: p.Node) -> Tensor | None:
    """Return the tensor that an operator gives of operands without a graph; None where one of them may be no tensor."""
    joined = tuple(map(_tensor_of, operands))
    if flow.graph is not False or not all(isinstance(value, ARITHMETIC) for value in joined):
        return None
    tensor = Tensor(flow, meta=making(op, joined))
    for tell in run.observers.operated[op]:
        tell(run, op, joined, tensor, node)
    return tensor


def _tensor_of(value: Value) -> Value:
    """One tensor for several without a graph of whose numbers nothing is known, by the path; else the value itself."""
    options = [option for _, option in value.options] if isinstance(value, Either) else []
    plain = (
        isinstance(each, Tensor)
        and each.flow.graph is False
        and each.kind is Kind.UNKNOWN
        and isinstance(each.meta, Making)
        for each in options
    )
    return Tensor(meta=making("either", tuple(options))) if options and all(plain) else value
