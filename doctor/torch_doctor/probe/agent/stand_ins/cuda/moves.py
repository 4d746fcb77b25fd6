"""Moves of tensors and modules to a GPU: what is moved stays, and computes, on the CPU."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from .devices import MARK, mark_all, marked
from .places import places

if TYPE_CHECKING:
    from types import ModuleType

    from .devices import Devices


class Moves:
    """The replacements of what moves."""

    def __init__(self, torch: ModuleType, devices: Devices) -> None:
        self._torch: Any = torch
        self._devices = devices

    def patch(self) -> None:
        """`to`, `cuda` and `pin_memory` of tensors and modules, and `cuda` of storages."""
        torch = self._torch
        self._patch_tensors()
        self._patch_modules()
        torch.Tensor.pin_memory = lambda tensor, *_, **__: tensor
        for storage in (torch.UntypedStorage, torch.TypedStorage):
            storage.cuda = lambda stored, *_, **__: stored

    def _patch_tensors(self) -> None:
        torch, on_cpu, tell = self._torch, self._devices.on_cpu, self._devices.tell
        tensor_to = torch.Tensor.to

        @functools.wraps(tensor_to)
        def to(tensor: Any, *arguments: Any, **keywords: Any) -> Any:
            first = arguments[0] if arguments else keywords.get("device")
            device = on_cpu(first)
            if device is first:
                return tensor_to(tensor, *arguments, **keywords)
            if arguments:
                arguments = (device, *arguments[1:])
            else:
                keywords["device"] = device
            with places.sleeping():
                result = tensor_to(tensor, *arguments, **keywords)
            if places.active:
                return places.put(tensor, result)
            return moved(tensor) if result is tensor else marked(result)

        def moved(tensor: Any) -> Any:
            if places.active:
                return places.put(tensor, tensor)
            if MARK in tensor.__dict__:
                return tensor
            if tensor.requires_grad and tensor.is_leaf and torch.is_grad_enabled():
                return marked(tensor_to(tensor, "cpu", copy=True))  # on a GPU it would be no leaf either
            return marked(tensor)

        def cuda(tensor: Any, *_: Any, **__: Any) -> Any:
            tell()
            return moved(tensor)

        torch.Tensor.to, torch.Tensor.cuda = to, functools.wraps(torch.Tensor.cuda)(cuda)

    def _patch_modules(self) -> None:
        devices = self._devices
        module = self._torch.nn.Module
        module_to, module_cuda = module.to, module.cuda

        @functools.wraps(module_to)
        def to_module(moved: Any, *arguments: Any, **keywords: Any) -> Any:
            first = arguments[0] if arguments else keywords.get("device")
            device = devices.on_cpu(first)
            if device is first:
                return module_to(moved, *arguments, **keywords)
            if arguments:
                arguments = (device, *arguments[1:])
            else:
                keywords["device"] = device
            return put(moved, *arguments, **keywords)

        @functools.wraps(module_cuda)
        def cuda_module(moved: Any, *_: Any, **__: Any) -> Any:
            devices.tell()
            return put(moved, devices.cpu)

        def put(moved: Any, *arguments: Any, **keywords: Any) -> Any:
            mark_all(moved)
            with places.sleeping():
                result = module_to(moved, *arguments, **keywords)
            if places.active:
                places.put_all(moved)
            return result

        module.to, module.cuda = to_module, cuda_module
