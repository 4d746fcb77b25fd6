"""Keeps torch's compiler unloaded while nothing is compiled.

With torch 2.13, `import torch` takes about 2.0 s of CPU time, and `import torch._dynamo` another 1.3 s.
Optimizers import it in their first call, only to tell it to leave them alone.
"""

from __future__ import annotations

import functools
import sys
from types import FunctionType
from typing import TYPE_CHECKING, Any

from .imports import after

if TYPE_CHECKING:
    from types import ModuleType

COMPILER = "torch._dynamo"
LEFT_ALONE = "__dynamo_disable"  # where `torch._compile` keeps what the compiler made of a function


def defer(torch: ModuleType) -> None:
    """Has optimizers do without the compiler until somebody loads it; from then on they are as torch made them."""
    if COMPILER in sys.modules:
        return
    optimizer: Any = torch.optim.Optimizer
    source = sys.modules["torch._compile"].__file__
    functions: list[Any] = [each for each in vars(optimizer).values() if isinstance(each, FunctionType)]
    methods = [each.__wrapped__ for each in functions if _is_by(each, "inner") and each.__code__.co_filename == source]
    for method in methods:
        setattr(method, LEFT_ALONE, method)
    after(COMPILER, lambda _: _forget(methods))
    for kind in vars(torch.optim).values():
        step = vars(kind).get("step") if isinstance(kind, type) and issubclass(kind, optimizer) else None
        if isinstance(step, FunctionType) and _is_by(step, "_use_grad"):
            kind.step = _step(torch, step)


def _is_by(function: Any, name: str) -> bool:
    """Whether a decorator of torch's made the function, which it calls `name`."""
    return hasattr(function, "__wrapped__") and function.__code__.co_name == name


def _forget(methods: list[Any]) -> None:
    for method in methods:
        if getattr(method, LEFT_ALONE, None) is method:
            delattr(method, LEFT_ALONE)


def _step(torch: Any, original: Any) -> Any:
    """A step with autograd on or off as its optimizer says, as torch wraps it, but for the breaks in compiled graphs."""

    @functools.wraps(original)
    def step(self: Any, *arguments: Any, **keywords: Any) -> Any:
        if COMPILER in sys.modules:
            return original(self, *arguments, **keywords)
        with torch.set_grad_enabled(self.defaults["differentiable"]):
            return original.__wrapped__(self, *arguments, **keywords)

    return step
