"""Methods that are named as a statement and not called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.tables import training
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.values import (
    Lib,
    Method,
    Module,
    Object,
    Optimizer,
    Tensor,
    Tool,
    UnknownAttribute,
    Value,
)
from torch_doctor.trace import NotCalled

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run

_METHODS_OF = {
    "step": "optimizer",
    "zero_grad": "optimizer",
    "update": "scaler",
    "backward": "tensor",
    "train": "module",
    "eval": "module",
}


def mentioned(run: Run, value: Value, node: p.Expr) -> None:
    """A value was named and nothing was done with it: a method that was meant to be called is an event."""
    text = run.text(node)
    if isinstance(value, Method) and value.name in _METHODS_OF:
        of = value.of
        if isinstance(of, Optimizer):
            kind = "optimizer"
        elif isinstance(of, Module):
            kind = "module"
        elif isinstance(of, Tool) and "scheduler" in of.name:
            kind = "scheduler"
        elif isinstance(of, Tool) and of.name in training.SCALERS:
            kind = "scaler"
        elif isinstance(of, Tensor):
            kind = "tensor"
        else:
            return
        if kind == "tensor" and value.name != "backward":
            return
        target = of.id if isinstance(of, Object) else 0
        run.emit(NotCalled, node, name=text, method=value.name, of=kind, target=target)
    elif isinstance(value, UnknownAttribute) and value.name == "backward" and value.flow.forwards:
        run.emit(NotCalled, node, name=text, method="backward", of="tensor")
    elif isinstance(value, Lib):
        name = canonical(value.name)
        if name in training.GRAD_MODES and name != "torch.set_grad_enabled":
            run.emit(NotCalled, node, name=text, method=name.rpartition(".")[2], of="torch")
