"""Dtypes and shapes of every function and method that the tables name: what is said to be known is what torch gives."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import pytest
import torch

from tests.static.tables.samples import METHOD_SAMPLES, called
from tests.static.tables.test_functions import IN_TORCH, UNTRIED_FUNCTIONS, UNTRIED_METHODS
from torch_doctor.static.measuring import making, measured
from torch_doctor.static.tables.functions import METHODS
from torch_doctor.static.tables.shapes import RESHAPING
from torch_doctor.static.tables.torch_functions import FUNCTIONS
from torch_doctor.static.values import Const, Content, Lib, Meta, Sequence, Tensor, Value

if TYPE_CHECKING:
    from torch_doctor.static.values.shapes import Shape

pytestmark = pytest.mark.filterwarnings("ignore")

FUNCTIONS_OF_TENSORS = [
    name for name in IN_TORCH if FUNCTIONS[name].result in ("tensor", "tuple") and name not in UNTRIED_FUNCTIONS
]
METHODS_OF_TENSORS = sorted(
    name
    for name, known in METHODS.items()
    if known.result in ("tensor", "tuple")
    and name not in UNTRIED_METHODS | RESHAPING  # the latter change what they got
)


def abstract(value: object, *, sizes: bool = True) -> Value:
    """What the static witness has for a value of torch; without sizes, of a tensor whose rank alone is known."""
    if isinstance(value, torch.Tensor):
        shape: Shape = tuple(value.shape) if sizes else (None,) * value.ndim
        return Tensor(meta=Meta(str(value.dtype).removeprefix("torch."), shape))
    if isinstance(value, torch.dtype):
        return Lib(str(value))
    if isinstance(value, (list, tuple)):
        kind = "list" if isinstance(value, list) else "tuple"
        return Sequence(kind, Content(tuple(abstract(item, sizes=sizes) for item in value)))
    return Const(value)


def fits(meta: Meta, tensor: torch.Tensor) -> bool:
    """Whether everything that is said of the tensor is right."""
    dtype = str(tensor.dtype).removeprefix("torch.")
    named = meta.dtype in ("", dtype) or (meta.dtype == "floating" and tensor.is_floating_point())
    if meta.shape is None:
        return named
    sizes = meta.shape[1:] if meta.shape[:1] == ("...",) else meta.shape
    real = tuple(tensor.shape)[-len(sizes) :] if sizes else tuple(tensor.shape)
    return named and len(real) == len(sizes) and all(a is None or a == b for a, b in zip(sizes, real, strict=True))


def results(out: object) -> list[torch.Tensor]:
    """The tensors that are compared: the result, or the first of several."""
    if isinstance(out, torch.nn.utils.rnn.PackedSequence):
        return [out.data]
    first = out[0] if isinstance(out, (tuple, list)) and out else out
    return [first] if isinstance(first, torch.Tensor) else []


def said(name: str, given: tuple[object, ...], *, sizes: bool) -> Meta:
    """What is said of the result."""
    made = making(name, tuple(abstract(value, sizes=sizes) for value in given))
    return measured(Tensor(meta=made))


def compared(name: str, given: tuple[object, ...], out: object) -> list[str]:
    """What is not known of a result although everything is of the arguments; it fails where something else is said."""
    vague = []
    for tensor in results(out):
        for sizes in (True, False):
            meta = said(name, given, sizes=sizes)
            assert fits(meta, tensor), (name, meta, tensor.dtype, tuple(tensor.shape))
        meta = said(name, given, sizes=True)
        if meta.shape is None or "..." in meta.shape:
            vague.append("rank")
        if not meta.dtype:
            vague.append("dtype")
    return vague


def of_function(name: str) -> list[str]:
    module, _, last = name.rpartition(".")
    short = name.removeprefix("torch.").replace("nn.functional.", "F.")
    given, out = called(getattr(importlib.import_module(module), last), short, last)
    return compared(last, given, out)


def of_method(name: str) -> list[str]:
    def call(*given: object) -> object:
        return getattr(given[0], name)(*given[1:])

    given, out = called(call, f"x.{name}" if name in METHOD_SAMPLES else name)
    return compared(name, given, out)


@pytest.mark.parametrize("name", FUNCTIONS_OF_TENSORS)
def test_what_a_function_gives_is_not_mistaken(name: str) -> None:
    of_function(name)


@pytest.mark.parametrize("name", METHODS_OF_TENSORS)
def test_what_a_method_gives_is_not_mistaken(name: str) -> None:
    of_method(name)
