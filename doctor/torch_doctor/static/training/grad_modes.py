"""Contexts that switch autograd on and off."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.tables import training
from torch_doctor.static.values import (
    Args,
    Bound,
    Const,
    Context,
    FunctionValue,
    Keywords,
    Plain,
    Value,
)

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.executor import Executor


def enter_grad_mode(run: Executor, name: str, args: Args, keywords: Keywords, node: p.Node) -> Value:
    """Make a grad-mode context; `set_grad_enabled` acts at once."""
    enabled = training.GRAD_MODES[name]
    switch = training.GRAD_MODE_SWITCH.get(name)
    flag = args[0] if args else keywords.get(switch[0]) if switch else None
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
        before = run.set_grad(name, enabled, node)
        return Context(name, enabled, run.site(node), previous=(before,))
    return Context(name, enabled, run.site(node))


def grad_context(run: Executor, name: str, node: p.Node) -> Context | None:
    """The grad-mode context of this name, as a decorator without a call."""
    enabled = training.GRAD_MODES.get(name)
    return Context(name, enabled, run.site(node)) if enabled is not None else None
