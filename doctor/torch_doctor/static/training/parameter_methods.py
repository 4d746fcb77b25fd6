"""Methods of parameters and of gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.flow import Flow
from torch_doctor.static.language import opaque_calls
from torch_doctor.static.tables import functions
from torch_doctor.static.training import parameters, tensors
from torch_doctor.static.values import (
    MADE_OF_GRADIENTS,
    Call,
    Const,
    Grads,
    Origin,
    Params,
    Plain,
    Tensor,
    Unknown,
    Value,
)
from torch_doctor.trace import ZeroGrad

if TYPE_CHECKING:
    from torch_doctor.static.run import Run


def params_method(run: Run, of: Params, name: str, call: Call) -> Value:
    """Call a method of parameters."""
    if name == "requires_grad_":
        wanted = call.argument(0) or Const(value=True)
        parameters.set_trainable(run, of.modules, wanted, call.node, whole=of.whole and not of.among)
        return of
    if name.endswith("_") and not name.startswith("_"):
        for observe in run.observers.changed:
            observe(run, of, call.renamed(f"{call.receiver}.{name}"))
        parameters.changed_by_hand(run, of.modules, call.values, call.node)
        return of
    if name in ("keys", "items", "values", "copy"):
        return of
    if name.startswith("register_"):
        for value in call.args:
            opaque_calls.call_back(run, value, call.node)
        return Plain()
    known = functions.METHODS.get(name)
    if known is not None:
        return tensors.method(run, of, name, known, call)
    return Unknown(Flow(graph=None, modules=of.modules), of.modules)


def grads_method(run: Run, of: Grads, name: str, call: Call) -> Value:
    """Call a method of gradients."""
    if name == "zero_" or (
        name in ("fill_", "mul_") and call.args and isinstance(call.args[0], Const) and call.args[0].value == 0
    ):
        run.emit(ZeroGrad, call.node, target=0, name=call.receiver, modules=of.modules, whole=True)
        return of
    if name in ("detach_", "requires_grad_"):
        return of
    if name.endswith("_"):
        parameters.gradients_changed(run, of, call.node)
        return of
    known = functions.METHODS.get(name)
    return (
        Plain() if known is not None and known.result == "plain" else Tensor(origin=Origin(operation=MADE_OF_GRADIENTS))
    )
