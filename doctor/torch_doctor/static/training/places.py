"""Tensors that a forward makes on the CPU, and what they meet there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.training import module_parts
from torch_doctor.trace import DevicesMet

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.executor import Executor
    from torch_doctor.static.values import Made, Module, Value

DEFAULTS = frozenset({"torch.set_default_device", "torch.set_default_tensor_type"})
"""Functions after which nobody can tell where a tensor is made that is told nothing."""


def met(run: Executor, made: Made, beside: Value, name: str, node: p.Node) -> None:
    """Write that a tensor which a forward made on the CPU is combined with one that is where the module, or its input, is.

    Modules without parameters may belong to the data, which stays on the CPU: of theirs only what requires gradients is
    known to come from a model.
    """
    root = run.modules_called[0]
    if not made.sized or run.default_device or not (beside.flow.graph or _has_parameters(run, root)):
        return
    for birth in made.births:
        if birth not in run.met_at:
            run.met_at.add(birth)
            operation = name.rpartition(".")[2] or run.text(node.func) if hasattr(node, "func") else name
            run.emit(
                DevicesMet,
                node,
                operation=operation,
                loss=False,
                elements=0,
                how="made",
                proof="",
                made_at=birth,
                inside=True,
                name=root.cls.name if root.cls is not None else root.name,
            )


def _has_parameters(run: Executor, module: Module) -> bool:
    return bool(module_parts.parts_of(run, module).owners)
