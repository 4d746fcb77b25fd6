"""`torch.cuda.FloatTensor` and its like, as classes and by name."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from .places import GPU, places

if TYPE_CHECKING:
    from .devices import Devices
    from .memory import GpuContents

TYPES = (
    "FloatTensor DoubleTensor HalfTensor BFloat16Tensor ByteTensor CharTensor ShortTensor IntTensor LongTensor BoolTensor"
).split()


def patch(torch: Any, devices: Devices, memory: GpuContents, *, pretend: bool) -> None:
    """Replaces the types of tensors on a GPU by those on the CPU; with `pretend`, by types that know them apart."""
    for name in TYPES:
        kind = getattr(torch, name)
        setattr(torch.cuda, name, _type_on_gpu(name, kind) if pretend else kind)
    tensor_type, default_type = torch.Tensor.type, torch.set_default_tensor_type

    def plain(kind: Any) -> Any:
        if isinstance(kind, str) and kind.startswith("torch.cuda."):
            devices.tell()
            return kind.replace("torch.cuda.", "torch.")
        return getattr(kind, "on_cpu", kind)

    def type_of(tensor: Any, dtype: Any = None, *arguments: Any, **keywords: Any) -> Any:
        kind = plain(dtype)
        if dtype is None or isinstance(dtype, torch.dtype):
            return tensor_type(tensor, kind, *arguments, **keywords)
        if not places.active:
            result = tensor_type(tensor, kind, *arguments, **keywords)
            return memory.put(tensor, result) if kind is not dtype else memory.fetched(tensor, result, surely=True)
        with places.sleeping():
            result = tensor_type(tensor, kind, *arguments, **keywords)
        if kind is not dtype:
            return places.put(tensor, result)
        places.set(result, None)
        return result

    def set_default(kind: Any) -> None:
        if plain(kind) is not kind:
            places.end()
        default_type(plain(kind))

    torch.Tensor.type = functools.wraps(tensor_type)(type_of)
    torch.set_default_tensor_type = functools.wraps(default_type)(set_default)


def _type_on_gpu(name: str, kind: Any) -> Any:
    """A type of tensors that are on the GPU: `torch.cuda.FloatTensor`."""

    class Kind(type):
        def __instancecheck__(cls, thing: Any) -> bool:
            return isinstance(thing, kind) and places.is_gpu(thing)

        def __call__(cls, *arguments: Any) -> Any:
            with places.sleeping():
                made = kind(*arguments)
            places.set(made, GPU)
            return made

    return Kind(name, (), {"__module__": "torch.cuda", "on_cpu": kind})
