"""Contexts that switch autograd on and off."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.library import library_family
from torch_doctor.static.tables import training
from torch_doctor.static.values import (
    Bound,
    Call,
    Const,
    Context,
    FunctionValue,
    Plain,
    Value,
)

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run


@library_family(training.GRAD_MODES)
def enter_grad_mode(run: Run, name: str, call: Call) -> Value:
    """Make a grad-mode context; `set_grad_enabled` acts at once."""
    enabled = training.GRAD_MODES[name]
    switch = training.GRAD_MODE_SWITCH.get(name)
    flag = call.argument(0, switch[0]) if switch else call.argument(0)
    if isinstance(flag, (FunctionValue, Bound)):  # torch.no_grad(function)
        return flag
    if switch is not None and flag is not None:
        enabled = bool(flag.value) if isinstance(flag, Const) else None
        if name == "torch.inference_mode":
            enabled = None if enabled is None else run.grad if not enabled else False
        elif enabled is None and isinstance(flag, Plain):
            assumed = run.decided(flag.symbol)
            enabled = assumed
    if name == "torch.set_grad_enabled":
        before = run.set_grad(name, enabled, call.node)
        return Context(name, enabled, run.site(call.node), previous=(before,))
    return Context(name, enabled, run.site(call.node))


def grad_context(run: Run, name: str, node: p.Node) -> Context | None:
    """The grad-mode context of this name, as a decorator without a call."""
    enabled = training.GRAD_MODES.get(name)
    return Context(name, enabled, run.site(node)) if enabled is not None else None
