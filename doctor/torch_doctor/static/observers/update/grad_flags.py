"""Attributes that speak of gradients and that torch does not read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.observer import Observer, override
from torch_doctor.static.values import Const, Either, Module, ParameterValue, Params, Tensor, Value
from torch_doctor.trace import GradFlagSet

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run

OF_TENSORS = frozenset(("requires_grad", "grad", "_grad"))
"""What torch reads of a tensor."""


class GradFlags(Observer):
    """Attributes of tensors and modules that look as if they switched gradients and that nobody reads."""

    writes = (GradFlagSet,)

    @override
    def attribute_set(self, run: Run, holder: Value, target: p.Attribute, value: Value, node: p.Node) -> None:
        """Write that such an attribute is set, unless it is the script's own."""
        name = target.name
        if not ("grad" in name or name.startswith("requ")):
            return
        options = [option for _, option in holder.options] if isinstance(holder, Either) else [holder]
        kinds = {_unread(run, option, name) for option in options}
        of = kinds.pop()
        if kinds or not of:
            return
        flag = value.value if isinstance(value, Const) and isinstance(value.value, bool) else None
        plain = all(isinstance(option, Tensor) and run.fact(option).graph is False for option in options)
        records = False if plain else None
        run.emit(GradFlagSet, node, name=run.text(target), attribute=name, of=of, value=flag, records=records)


def _unread(run: Run, value: Value, name: str) -> str:
    """What it is, "tensor" or "module", when nobody reads such an attribute of it; else nothing."""
    if isinstance(value, (Tensor, Params, ParameterValue)):
        return "" if name in OF_TENSORS else "tensor"
    return "module" if isinstance(value, Module) and not _is_own(run, value, name) else ""


def _is_own(run: Run, module: Module, name: str) -> bool:
    """Whether the module's class may read the attribute, or it only seems to be a module.

    What is set on `self`, or handed to a constructor under that name, is the class's own.
    """
    if module.cls is None:
        return not module.layer
    if module.cls.find(name) is not None or module.cls.find("__setattr__") is not None:
        return True
    return isinstance(module.fields.get(name), Value) or run.frame.self is module
