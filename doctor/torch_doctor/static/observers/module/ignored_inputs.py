"""Tensors of a batch that a `forward` takes and never reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static import program as p
from torch_doctor.static.observer import Observer
from torch_doctor.static.program.walking import walk
from torch_doctor.static.values import ClassValue, FunctionValue, Module, Tensor
from torch_doctor.trace import InputTried, Source

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call, Value

_LOOKS = frozenset(("locals", "vars", "eval", "exec"))
"""What may read a parameter without naming it."""


class IgnoredInputs(Observer):
    """Compares what a `forward` is given with what its body names."""

    writes = (InputTried,)

    def left(self, run: Run, module: Module, call: Call, _: Value) -> None:
        """A module was called."""
        found = module.cls.find("forward") if module.cls is not None else None
        if found is None or not isinstance(found[0], FunctionValue):
            return
        function, owner = found[0], found[1]
        if function.node.decorators or function.contexts or _is_an_interface(owner, function):
            return
        named: set[str] | None = None
        for number, parameter in enumerate(function.node.parameters[1:]):
            given = call.argument(number, parameter.name)
            if not _may_be_told(parameter) or not isinstance(given, Tensor) or given.flow.source is not Source.LOADER:
                continue
            if named is None:
                named = {node.id for node in walk(function.node.body) if isinstance(node, p.Name)}
            if parameter.name not in named and not named & _LOOKS and not _takes(run, owner, function, parameter.name):
                run.emit(
                    InputTried,
                    function.unit.site(parameter.at),
                    module=owner.name,
                    name=parameter.name,
                    used_at=run.site(call.node),
                )


def _may_be_told(parameter: p.Parameter) -> bool:
    """Whether it is there to be read: not one that has a default, or a name that says that nobody reads it."""
    return parameter.kind in ("plain", "keyword") and parameter.default is None and not parameter.name.startswith("_")


def _is_an_interface(owner: ClassValue, function: FunctionValue) -> bool:
    """Whether a base may ask for these parameters, or a body is there only to be overridden."""
    bases = [each for each in owner.mro()[1:] if isinstance(each, ClassValue)]
    above = any(each.fields.get("forward") is not None for each in bases)
    return above or bool(owner.opaque_base()) or len(function.node.body) == 0


def _takes(run: Run, owner: ClassValue, function: FunctionValue, name: str) -> bool:
    """Whether another class of the file has a `forward` with this parameter: one call may be of either.

    A class whose own `forward` hands it on is none.
    """
    around = [each.cls for each in run.modules_called]
    for other in function.closure.globals.fields.values():
        if isinstance(other, ClassValue) and other is not owner and other not in around:
            method = other.fields.get("forward")
            if isinstance(method, FunctionValue) and any(each.name == name for each in method.node.parameters):
                return True
    return False
