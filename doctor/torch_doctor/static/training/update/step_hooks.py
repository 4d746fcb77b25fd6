"""Hooks around the steps of optimizers, which may clear gradients, or change what a step applies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.library import library
from torch_doctor.static.values import Call, Fact, Unknown

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Object, Optimizer, Value

METHODS = {"register_step_pre_hook": True, "register_step_post_hook": False}
"""The methods of optimizers that register a hook: whether it runs before a step."""
_FOR_ALL = "torch.optim.optimizer.register_optimizer_step_"


@library(f"{_FOR_ALL}pre_hook", f"{_FOR_ALL}post_hook")
def for_all(run: Run, name: str, call: Call) -> Value:
    """A hook is registered for the steps of all optimizers."""
    return registered(run, run.state, call, before=name.endswith("pre_hook"))


def registered(run: Run, of: Object, call: Call, *, before: bool) -> Value:
    """A hook is registered for the steps of an optimizer; of the run: for those of all."""
    if (hook := call.argument(0, "hook")) is not None:
        run.heap.set(of.facts, Fact.STEP_HOOKS, (*of.fact(Fact.STEP_HOOKS), (before, hook)))
    return Unknown()


def run_those(run: Run, of: Optimizer, node: p.Node, *, before: bool) -> None:
    """Call the hooks that run before a step of an optimizer, or after it."""
    for first, hook in (*run.state.fact(Fact.STEP_HOOKS), *of.fact(Fact.STEP_HOOKS)):
        if first is before:
            run.call(hook, Call((of, Unknown(), Unknown()), {}, node))
