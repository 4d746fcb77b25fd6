"""Calls that do with an array what a function of torch does with a tensor, and tensors that are made of arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.flow import blend
from torch_doctor.static.tables import arrays as table
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.training.data import arrays
from torch_doctor.static.values import Call, Lib, Plain, Tensor
from torch_doctor.trace import Kind

if TYPE_CHECKING:
    from torch_doctor.static.values import Value


def called(func: Value, call: Call) -> tuple[str, Call] | None:
    """The function of torch that does what a function of numpy or the method of an array does, and a call of it.

    None for anything else; arrays are the tensors that torch would make of them.
    """
    made = func.size if isinstance(func, Plain) else None
    if made is not None and made.name == arrays.METHOD and made.args:
        name, args = table.METHODS.get(str(made.of)), (made.args[0], *call.args)
    else:
        name, args = table.ALIKE.get(canonical(func.name)) if isinstance(func, Lib) else None, call.args
    if name is None:
        return None
    keywords = {arrays.SETTINGS.get(key, key): arrays.as_tensor(value) for key, value in call.keywords.items()}
    return name, Call(tuple(map(arrays.as_tensor, args)), keywords, call.node, call.name)


def labelled(call: Call, result: Value) -> Value:
    """A tensor that a function of torch made of an array: labels are labels still, and predictions are predictions."""
    array = arrays.tensor_of(call.argument(0, "data"))
    if array is None or not isinstance(result, Tensor):
        return result
    if array.flow.forwards:
        result = result.with_flow(blend((result.flow, array.flow)))
        return result.altered(kind=array.kind)
    return result.altered(kind=Kind.LABELS) if array.kind is Kind.LABELS else result
