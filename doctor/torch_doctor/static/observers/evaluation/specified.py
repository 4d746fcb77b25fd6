"""What code says of models that it gets from out of sight, or may do to parts of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.static import program as p
from torch_doctor.static.observer import Named, Observer, override
from torch_doctor.static.program.using import path_of
from torch_doctor.static.tables import words
from torch_doctor.static.values import Module
from torch_doctor.trace import ModelSpecified

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch_doctor.static.run import Run
    from torch_doctor.static.values import FunctionValue, Value

_USUAL: Final = frozenset(
    words(
        """
        __call__ forward parameters named_parameters state_dict load_state_dict to cuda cpu half float double bfloat16
        zero_grad train eval requires_grad_ share_memory
        """
    )
)
"""What every model is used by."""
_ANY: Final = frozenset(("Module", "nn.Module", "torch.nn.Module"))
"""Annotations that name no class in particular."""


class Specified(Observer, read=(Named(Module, lambda name: name not in _USUAL),)):
    """Says where a model of an unknown class is no longer any model."""

    writes = (ModelSpecified,)

    @override
    def read(self, run: Run, value: Value, name: str, node: p.Node) -> None:
        """An attribute is taken that not every use of a model needs."""
        self._told(run, value, name, node)

    @override
    def given(self, run: Run, function: FunctionValue, parameters: Mapping[object, Value]) -> None:
        """A function names the class of a parameter, or has a model as its default."""
        for each in function.node.parameters:
            value = parameters.get(each.name)
            if not isinstance(value, Module):
                continue
            annotation, default = each.annotation, each.default
            named = annotation is not None and path_of(annotation) not in _ANY
            if named or not (default is None or (isinstance(default, p.Const) and default.value is None)):
                self._told(run, value, each.name, function.node)

    def _told(self, run: Run, value: Value, name: str, node: p.Node) -> None:
        if isinstance(value, Module) and value.cls is None and not value.layer:
            run.emit(ModelSpecified, node, module=value.id, name=name)
