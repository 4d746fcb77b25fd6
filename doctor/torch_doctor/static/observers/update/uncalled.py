"""Methods that are named as a statement and not called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static import program as p
from torch_doctor.static.observer import Observer, override
from torch_doctor.static.tables import training
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.values import (
    Bound,
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
    from torch_doctor.static.run import Run

_METHODS = frozenset(("step", "zero_grad", "update", "backward", "train", "eval"))


class Uncalled(Observer):
    """Methods that a statement, or a `with`, names without calling them."""

    writes = (NotCalled,)

    @override
    def stated(self, run: Run, node: p.Expr, value: Value) -> None:
        """A statement that is only a name says what its author meant to do."""
        if isinstance(node, (p.Attribute, p.Name)):
            _tell(run, value, node)

    @override
    def opened(self, run: Run, context: Value, node: p.Expr) -> None:
        """`with torch.no_grad:` is no context."""
        if isinstance(context, (Lib, Bound)) and isinstance(node, (p.Attribute, p.Name)):
            _tell(run, context, node)


def _tell(run: Run, value: Value, node: p.Expr) -> None:
    text = run.text(node)
    if isinstance(value, Method) and value.name in _METHODS:
        kind = _kind(value)
        if kind:
            target = value.of.id if isinstance(value.of, Object) else 0
            run.emit(NotCalled, node, name=text, method=value.name, of=kind, target=target)
    elif isinstance(value, UnknownAttribute) and value.name == "backward" and value.flow.forwards:
        run.emit(NotCalled, node, name=text, method="backward", of="tensor")
    elif isinstance(value, Lib):
        name = canonical(value.name)
        if name in training.GRAD_MODES and name != "torch.set_grad_enabled":
            run.emit(NotCalled, node, name=text, method=name.rpartition(".")[2], of="torch")


def _kind(method: Method) -> str:
    """What has this method; "" where it is of no interest."""
    of = method.of
    if isinstance(of, Optimizer):
        return "optimizer"
    if isinstance(of, Module):
        return "module"
    if isinstance(of, Tool) and "scheduler" in of.name:
        return "scheduler"
    if isinstance(of, Tool) and of.name in training.SCALERS:
        return "scaler"
    return "tensor" if isinstance(of, Tensor) and method.name == "backward" else ""
