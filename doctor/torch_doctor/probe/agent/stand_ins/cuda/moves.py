"""Moves of tensors and modules to a GPU and back: they copy, and what is moved computes on the CPU."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from .memory import NOT_READABLE
from .places import places

if TYPE_CHECKING:
    from types import ModuleType

    from .devices import Devices
    from .memory import GpuContents


class MoveReplacements:
    """The replacements of what moves."""

    def __init__(self, torch: ModuleType, devices: Devices, memory: GpuContents) -> None:
        self._torch: Any = torch
        self._devices = devices
        self._memory = memory

    def patch(self) -> None:
        """`to`, `cuda` and `cpu` of tensors and modules, what reads tensors as arrays, and `cuda` of storages."""
        torch = self._torch
        self._patch_tensors()
        self._patch_arrays()
        self._patch_modules()
        torch.Tensor.pin_memory = lambda tensor, *_, **__: tensor
        for storage in (torch.UntypedStorage, torch.TypedStorage):
            storage.cuda = lambda stored, *_, **__: stored

    def _patch_tensors(self) -> None:
        torch, devices, memory = self._torch, self._devices, self._memory
        tensor_to, tensor_cpu = torch.Tensor.to, torch.Tensor.cpu

        @functools.wraps(tensor_to)
        def to(tensor: Any, *arguments: Any, **keywords: Any) -> Any:
            first = arguments[0] if arguments else keywords.get("device")
            device = devices.on_cpu(first)
            if device is first:
                result = tensor_to(tensor, *arguments, **keywords)
                return memory.fetched(tensor, result, surely=first == "cpu") if devices.is_cpu(first) else result
            if arguments:
                arguments = (device, *arguments[1:])
            else:
                keywords["device"] = device
            with places.sleeping():
                result = tensor_to(tensor, *arguments, **keywords)
            return self._put(tensor, result)

        @functools.wraps(torch.Tensor.cuda)
        def cuda(tensor: Any, *_: Any, **__: Any) -> Any:
            devices.tell()
            return self._put(tensor, tensor)

        @functools.wraps(tensor_cpu)
        def cpu(tensor: Any, *arguments: Any, **keywords: Any) -> Any:
            return memory.fetched(tensor, tensor_cpu(tensor, *arguments, **keywords), surely=True)

        torch.Tensor.to, torch.Tensor.cuda, torch.Tensor.cpu = to, cuda, cpu
        for kind in (torch.nn.UninitializedParameter, torch.nn.UninitializedBuffer):
            kind._allowed_methods = _Allowed(kind._allowed_methods)

    def _put(self, tensor: Any, result: Any) -> Any:
        """What a move of `tensor` to the GPU gives, of which torch made `result`."""
        if places.active:
            return self._memory.settle(places.put(tensor, result))
        return self._memory.put(tensor, result)

    def _patch_arrays(self) -> None:
        """`tensor.numpy()` and `numpy.asarray(tensor)` raise for what lies on the GPU."""
        memory = self._memory

        def reading(original: Any) -> Any:
            @functools.wraps(original)
            def read(tensor: Any, *arguments: Any, **keywords: Any) -> Any:
                if memory.used and memory.on_gpu(tensor) and not keywords.get("force"):
                    raise TypeError(NOT_READABLE)
                return original(tensor, *arguments, **keywords)

            return read

        for name in ("numpy", "__array__"):
            setattr(self._torch.Tensor, name, reading(getattr(self._torch.Tensor, name)))

    def _patch_modules(self) -> None:
        devices, memory = self._devices, self._memory
        module = self._torch.nn.Module
        module_to, module_cuda, module_cpu = module.to, module.cuda, module.cpu

        @functools.wraps(module_to)
        def to_module(moved: Any, *arguments: Any, **keywords: Any) -> Any:
            first = arguments[0] if arguments else keywords.get("device")
            device = devices.on_cpu(first)
            if device is first:
                result = module_to(moved, *arguments, **keywords)
                if first == "cpu":
                    memory.fetch_module(moved)
                return result
            if arguments:
                arguments = (device, *arguments[1:])
            else:
                keywords["device"] = device
            return put(moved, *arguments, **keywords)

        @functools.wraps(module_cuda)
        def cuda_module(moved: Any, *_: Any, **__: Any) -> Any:
            devices.tell()
            return put(moved, devices.cpu)

        @functools.wraps(module_cpu)
        def cpu_module(moved: Any) -> Any:
            result = module_cpu(moved)
            memory.fetch_module(moved)
            return result

        def put(moved: Any, *arguments: Any, **keywords: Any) -> Any:
            with places.sleeping():
                result = module_to(moved, *arguments, **keywords)
                memory.put_module(moved)
            if places.active:
                places.put_all(moved)
            return result

        module.to, module.cuda, module.cpu = to_module, cuda_module, cpu_module


class _Allowed(list[Any]):
    """The methods of a parameter that has no shape yet: those that move it are others now, whoever replaces them."""

    def __contains__(self, method: Any) -> bool:
        return super().__contains__(method) or getattr(method, "__name__", "") in ("to", "cuda", "cpu")
