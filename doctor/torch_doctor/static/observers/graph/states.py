"""Modules that keep what they compute for their next call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.observer import Observer, override
from torch_doctor.static.values import Module, Tensor, Unknown, Value
from torch_doctor.trace import StateKept

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run


class ModuleStates(Observer):
    """Looks at the attributes that modules are given while one is called."""

    writes = (StateKept,)

    @override
    def attribute_set(self, run: Run, holder: Value, target: p.Attribute, value: Value, node: p.Node) -> None:
        """Write that a module keeps a result that may have a graph."""
        computed = isinstance(value, (Tensor, Unknown)) and value.flow.graph is not False
        if computed and run.modules_called and isinstance(holder, Module):
            run.emit(StateKept, node, module=holder.id, name=target.name)
