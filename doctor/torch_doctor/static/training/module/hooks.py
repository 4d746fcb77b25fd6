"""Hooks around the `forward` of a module, which run when it is called, and only then."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from torch_doctor.pattern import pattern
from torch_doctor.static.dispatch import handles
from torch_doctor.static.library import Stage, library, library_family
from torch_doctor.static.values import Fact, Module, Unknown

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call, Value

OfModule: TypeAlias = "Callable[[Run, Module, str, Call], Value | None]"
METHODS: dict[str, OfModule] = {}
"""The methods that are modelled here, by name."""
_PRUNES = "torch.nn.utils.prune."
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
def _registered(run: Run, of: Module, _: str, call: Call) -> Value:
    if not _TAKEN_OUT.search(run.frame.unit.source.text):
        _put(run, of, "the module's hooks", call)
    return Unknown()


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
