"""Whatever takes `device=`: it makes its tensors on the CPU."""

from __future__ import annotations

import functools
import importlib
from typing import TYPE_CHECKING, Any

from .places import Place, places

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from .devices import Devices
    from .memory import GpuContents

NEW = ("new_tensor", "new_empty", "new_full", "new_zeros", "new_ones", "new_empty_strided")
SHARING = ("as_tensor", "asarray")
"""What gives the tensor that it is given, or one on the memory of an array."""


@functools.cache
def named(torch: Any) -> list[tuple[Any, list[str]]]:
    """The modules with functions that make tensors, and the names of these there.

    It looks at every name of torch, and in a fork that copies the pages of all of it: a server does so before it forks.
    """
    importlib.import_module("torch.utils._device")
    constructors = torch.utils._device._device_constructors()  # kept by torch: looked up before they are replaced
    return [
        (
            space,
            [
                name
                for name, function in list(vars(space).items())
                if name.endswith("_like") or (callable(function) and _is_one_of(function, constructors))
            ],
        )
        for space in (torch, torch.fft)
    ]


class Factories:
    """The replacements of what makes tensors."""

    def __init__(self, torch: ModuleType, devices: Devices, memory: GpuContents) -> None:
        self._torch: Any = torch
        self._devices = devices
        self._memory = memory

    def patch(self) -> None:
        """Every function of `torch` that makes tensors, `Tensor.new_*`, `torch.Generator` and the default device."""
        torch = self._torch
        for space, names in named(torch):
            for name in names:
                setattr(space, name, self._with_device(getattr(space, name)))
        for name in NEW:
            setattr(torch.Tensor, name, self._with_device(getattr(torch.Tensor, name)))
        torch.Generator = self._generator(torch.Generator)
        context = torch.utils._device.DeviceContext
        enter = context.__init__
        context.__init__ = lambda made, device: enter(made, self._by_default(device))
        default = torch.set_default_device

        def set_default(device: Any) -> None:
            if self._devices.on_cpu(device) is not device:
                places.end()
            default(self._devices.on_cpu(device))

        torch.set_default_device = functools.wraps(default)(set_default)

    def _by_default(self, device: Any) -> Any:
        """Where tensors are made within `with device:`."""
        found = self._devices.on_cpu(device)
        return places.gpu(self._torch) if places.active and found is not device else found

    def _with_device(self, function: Callable[..., Any]) -> Callable[..., Any]:
        on_cpu = self._devices.on_cpu

        @functools.wraps(function)
        def made(*arguments: Any, **keywords: Any) -> Any:
            if "device" in keywords:
                device = on_cpu(keywords["device"])
                if device is not keywords["device"]:
                    keywords["device"] = device
                    keywords.pop("pin_memory", None)
                    with places.sleeping():
                        result = function(*arguments, **keywords)
                        if getattr(function, "__name__", "") in SHARING and not self._memory.on_gpu(result):
                            result = self._memory.copy(result)
                    if places.active and isinstance(result, self._torch.Tensor):
                        places.set(result, Place(gpu=True, site=places.on_put()))
                    return self._memory.settle(result)
            if "pin_memory" in keywords:
                keywords["pin_memory"] = False
            result = function(*arguments, **keywords)
            if keywords.get("device") is not None and getattr(function, "__name__", "") in SHARING:
                result = self._memory.fetched(result, result, surely=True)  # a tensor that is known to be here stays
            return result

        return made

    def _generator(self, generator: type) -> type:
        on_cpu = self._devices.on_cpu

        # OpaqueBaseMeta in torch 2.13: https://github.com/pytorch/pytorch/pull/180291.
        class GeneratorKind(type(generator)):  # type: ignore[misc]
            def __instancecheck__(cls, instance: object) -> bool:
                return isinstance(instance, generator)

            def __call__(cls, device: Any = "cpu") -> Any:
                return generator(on_cpu(device))

        return GeneratorKind("Generator", (generator,), {"__module__": "torch", "__doc__": generator.__doc__})


def _is_one_of(function: Any, known: set[Any]) -> bool:
    try:
        return function in known
    except TypeError:  # not hashable
        return False
