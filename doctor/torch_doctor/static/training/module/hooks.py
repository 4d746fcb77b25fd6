"""Hooks around the `forward` of a module, which run when it is called, and only then."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from msgspec.structs import replace

from torch_doctor.pattern import pattern
from torch_doctor.static import program as p
from torch_doctor.static.dispatch import handles
from torch_doctor.static.library import Stage, library, library_family
from torch_doctor.static.program.walking import walk
from torch_doctor.static.values import (
    NOTHING,
    Bound,
    Call,
    Const,
    Content,
    Fact,
    FunctionValue,
    Module,
    Sequence,
    Unknown,
    held,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Value

OfModule: TypeAlias = "Callable[[Run, Module, str, Call], Value | None]"
METHODS: dict[str, OfModule] = {}
"""The methods that are modelled here, by name."""
_PRUNES = "torch.nn.utils.prune."
_BEFORE = "register_forward_pre_hook"
_AROUND_FORWARD = (_BEFORE, "register_forward_hook")
_TAKEN_OUT = pattern(r"\.remove\(\s*\)")
"""What takes a hook out again: where a file does, nobody follows which are there."""


@handles(
    METHODS,
    "register_forward_hook",
    "register_forward_pre_hook",
    "register_full_backward_hook",
    "register_full_backward_pre_hook",
    "register_backward_hook",
)
def _registered(run: Run, of: Module, name: str, call: Call) -> Value:
    taken_out = bool(_TAKEN_OUT.search(run.frame.unit.source.text))
    if not taken_out:
        _put(run, of, "the module's hooks", call)
    hook = run.resolve(call.argument(0, "hook") or NOTHING)
    if name in _AROUND_FORWARD and _gives_back(hook):
        run.heap.set(of.facts, Fact.OUTPUT_HOOKS, (*of.fact(Fact.OUTPUT_HOOKS), (hook, name == _BEFORE or taken_out)))
    return Unknown()


def output_of(run: Run, module: Module, call: Call, output: Value) -> Value:
    """What a call of a module returns, with what its hooks give back instead."""
    for hook, doubtful in module.fact(Fact.OUTPUT_HOOKS):
        if doubtful:
            return Unknown(replace(output.flow, graph=None), held((output,)))
        given = run.call(hook, Call((module, Sequence("tuple", Content(call.args)), output), {}, call.node))
        output = output if isinstance(given, Const) and given.value is None else given
    return output


def _gives_back(hook: Value) -> bool:
    """Whether a hook may return something, which takes the place of the output, or of the input."""
    function = hook.function if isinstance(hook, Bound) else hook
    if not isinstance(function, FunctionValue):
        return True
    returns = [each for each in walk(function.node.body) if isinstance(each, p.Return)]
    return any(
        not (each.value is None or (isinstance(each.value, p.Const) and each.value.value is None)) for each in returns
    )


@handles(METHODS, "compile")
def _compiled(run: Run, of: Module, _: str, call: Call) -> Value:
    _put(run, of, "its compiled code", call)
    return of


@library(
    "torch.nn.utils.weight_norm", "torch.nn.utils.spectral_norm", "torch.distributed.fsdp.fully_shard", stage=Stage.NOTE
)
def hooked(run: Run, name: str, call: Call) -> None:
    """A function of torch puts hooks around a module that it is given."""
    _put(run, call.argument(0, "module"), f"the hooks of `{name.rpartition('.')[2]}`", call)


@library_family(lambda name: name.startswith(_PRUNES), stage=Stage.NOTE)
def pruned(run: Run, name: str, call: Call) -> None:
    """A layer is pruned: its weights are masked anew in each call, until `remove` makes that final."""
    _put(run, call.argument(0, "module"), "" if name == f"{_PRUNES}remove" else "the hooks of `prune`", call)


@library("torch.nn.utils.remove_weight_norm", "torch.nn.utils.remove_spectral_norm", stage=Stage.NOTE)
def removed(run: Run, _: str, call: Call) -> None:
    """And takes them out."""
    _put(run, call.argument(0, "module"), "", call)


def _put(run: Run, module: Value | None, what: str, call: Call) -> None:
    """From here on, calling the module does this besides its `forward`."""
    if isinstance(module, Module):
        run.heap.set(module.facts, Fact.AROUND, value=(what, run.site(call.node)) if what else None)
