"""The CPU stands in for CUDA where there is none: what is moved to a GPU stays, and computes, on the CPU."""

from __future__ import annotations

import functools
import importlib
from typing import TYPE_CHECKING, Any

from . import told
from .cuda_queries import Queries
from .places import GPU, places

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType

    from .source import Sources
    from .told import Teller

MARK = "_torch_doctor_moved"  # set on parameters that would be on the GPU
NEW = ("new_tensor", "new_empty", "new_full", "new_zeros", "new_ones", "new_empty_strided")
TYPES = (
    "FloatTensor DoubleTensor HalfTensor BFloat16Tensor ByteTensor CharTensor ShortTensor IntTensor LongTensor BoolTensor"
).split()


def needed(torch: ModuleType, plan: Mapping[str, Any]) -> bool:
    """Whether the CPU has to stand in, by `plan["device"]` (`cpu`, `cuda`, `auto`) and what torch sees."""
    return plan.get("device", "auto") == "cpu" or not torch.cuda.is_available()


def install(
    torch: ModuleType, sources: Sources, teller: Teller, why: str, *, pretend: bool = False, processes: int = 1
) -> None:
    """Patches torch; `why` reads after "for": `no GPU that torch can use`. `pretend`: the script is told that there is one.

    `processes` run the script, each on a GPU of its own, as it believes.
    """
    stand_in = Cuda(torch, teller, why)
    stand_in.patch_moves()
    stand_in.patch_factories()
    stand_in.patch_loading()
    stand_in.patch_types(pretend=pretend)
    Queries(torch, sources, stand_in.tell, insists=pretend, processes=processes).patch()


class Cuda:
    """The replacements, by what they take a device from."""

    def __init__(self, torch: ModuleType, teller: Teller, why: str) -> None:
        self._torch: Any = torch
        self._teller = teller
        self._why = why
        self._cpu = torch.device("cpu")

    def tell(self) -> None:
        """Tells that the CPU stands in, when the script first asks for a GPU."""
        self._teller.stand_in("cuda", self._why, "the CPU", [told.DEVICE])

    def on_cpu(self, device: Any) -> Any:
        """The device to use for `device`; what is no GPU, and what is no device, is returned as it is."""
        if isinstance(device, str):
            if not device.startswith("cuda"):
                return device
        elif isinstance(device, self._torch.device):
            if places.means_gpu(device):
                return self._cpu
            if device.type != "cuda":
                return device
        elif not isinstance(device, int) or isinstance(device, bool):
            return device
        self.tell()
        return self._cpu

    # --- tensors and modules ---

    def patch_moves(self) -> None:  # noqa: C901 - one small function for each way to move
        """`Tensor.to`, `.cuda`, `.pin_memory`, `.new_*`, `Module.to`, `.cuda` and the storages' `.cuda`."""
        torch, on_cpu = self._torch, self.on_cpu
        tensor_to, module_to, module_cuda = torch.Tensor.to, torch.nn.Module.to, torch.nn.Module.cuda

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
            return moved(tensor) if result is tensor else _marked(result)

        def moved(tensor: Any) -> Any:
            if places.active:
                return places.put(tensor, tensor)
            if MARK in tensor.__dict__:
                return tensor
            if tensor.requires_grad and tensor.is_leaf and torch.is_grad_enabled():
                return _marked(tensor_to(tensor, "cpu", copy=True))  # on a GPU it would be no leaf either
            return _marked(tensor)

        def cuda(tensor: Any, *_: Any, **__: Any) -> Any:
            self.tell()
            return moved(tensor)

        @functools.wraps(module_to)
        def to_module(module: Any, *arguments: Any, **keywords: Any) -> Any:
            first = arguments[0] if arguments else keywords.get("device")
            device = on_cpu(first)
            if device is first:
                return module_to(module, *arguments, **keywords)
            if arguments:
                arguments = (device, *arguments[1:])
            else:
                keywords["device"] = device
            return put(module, *arguments, **keywords)

        @functools.wraps(module_cuda)
        def cuda_module(module: Any, *_: Any, **__: Any) -> Any:
            self.tell()
            return put(module, self._cpu)

        def put(module: Any, *arguments: Any, **keywords: Any) -> Any:
            _mark_all(module)
            with places.sleeping():
                result = module_to(module, *arguments, **keywords)
            if places.active:
                places.put_all(module)
            return result

        torch.Tensor.to, torch.Tensor.cuda = to, functools.wraps(torch.Tensor.cuda)(cuda)
        torch.Tensor.pin_memory = lambda tensor, *_, **__: tensor
        torch.nn.Module.to, torch.nn.Module.cuda = to_module, cuda_module
        for storage in (torch.UntypedStorage, torch.TypedStorage):
            storage.cuda = lambda stored, *_, **__: stored
        for name in NEW:
            setattr(torch.Tensor, name, self._with_device(getattr(torch.Tensor, name)))

    # --- whatever takes `device=` ---

    def patch_factories(self) -> None:
        """Every function of `torch` that makes tensors, `torch.Generator` and the default device."""
        torch = self._torch
        importlib.import_module("torch.utils._device")
        constructors = torch.utils._device._device_constructors()  # kept by torch: looked up before they are replaced
        for space in (torch, torch.fft):
            for name, function in list(vars(space).items()):
                if name.endswith("_like") or (callable(function) and _is_one_of(function, constructors)):
                    setattr(space, name, self._with_device(function))
        torch.Generator = self._generator(torch.Generator)
        context = torch.utils._device.DeviceContext
        enter = context.__init__
        context.__init__ = lambda made, device: enter(made, self._by_default(device))
        default = torch.set_default_device

        def set_default(device: Any) -> None:
            if self.on_cpu(device) is not device:
                places.end()
            default(self.on_cpu(device))

        torch.set_default_device = functools.wraps(default)(set_default)

    def _by_default(self, device: Any) -> Any:
        """Where tensors are made within `with device:`."""
        found = self.on_cpu(device)
        return places.gpu(self._torch) if places.active and found is not device else found

    def _with_device(self, function: Callable[..., Any]) -> Callable[..., Any]:
        on_cpu = self.on_cpu

        @functools.wraps(function)
        def made(*arguments: Any, **keywords: Any) -> Any:
            if "device" in keywords:
                device = on_cpu(keywords["device"])
                if device is not keywords["device"]:
                    keywords["device"] = device
                    keywords.pop("pin_memory", None)
                    with places.sleeping():
                        result = function(*arguments, **keywords)
                    if places.active and isinstance(result, self._torch.Tensor):
                        places.set(result, GPU)
                        places.on_put()
                    return _marked(result)
            if "pin_memory" in keywords:
                keywords["pin_memory"] = False
            return function(*arguments, **keywords)

        return made

    def _generator(self, generator: type) -> type:
        on_cpu = self.on_cpu

        class Kind(type(generator)):  # type: ignore[misc]  # OpaqueBaseMeta since torch 2.10
            def __instancecheck__(cls, instance: object) -> bool:
                return isinstance(instance, generator)

            def __call__(cls, device: Any = "cpu") -> Any:
                return generator(on_cpu(device))

        return Kind("Generator", (generator,), {"__module__": "torch", "__doc__": generator.__doc__})

    # --- what is stored ---

    def patch_loading(self) -> None:
        """`torch.load`: whatever was on a GPU, or is to be put there, is read to the CPU."""
        torch, on_cpu = self._torch, self.on_cpu
        load = torch.load

        @functools.wraps(load)
        def load_on_cpu(f: Any, map_location: Any = None, *arguments: Any, **keywords: Any) -> Any:
            if map_location is None:
                map_location = "cpu"
            elif isinstance(map_location, dict):
                map_location = {
                    **{key: str(on_cpu(value)) for key, value in map_location.items()},
                    "cuda:0": "cpu",
                    "cuda": "cpu",
                }
            else:
                map_location = on_cpu(map_location)
            return load(f, map_location, *arguments, **keywords)

        torch.load = load_on_cpu

    def patch_types(self, *, pretend: bool = False) -> None:
        """`torch.cuda.FloatTensor` and its like, as classes and by name."""
        torch = self._torch
        for name in TYPES:
            kind = getattr(torch, name)
            setattr(torch.cuda, name, _type_on_gpu(name, kind) if pretend else kind)
        tensor_type, default_type = torch.Tensor.type, torch.set_default_tensor_type

        def plain(kind: Any) -> Any:
            if isinstance(kind, str) and kind.startswith("torch.cuda."):
                self.tell()
                return kind.replace("torch.cuda.", "torch.")
            return getattr(kind, "on_cpu", kind)

        def type_of(tensor: Any, dtype: Any = None, *arguments: Any, **keywords: Any) -> Any:
            kind = plain(dtype)
            if not places.active or dtype is None or isinstance(dtype, torch.dtype):
                return tensor_type(tensor, kind, *arguments, **keywords)
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


def _is_one_of(function: Any, known: set[Any]) -> bool:
    try:
        return function in known
    except TypeError:  # not hashable
        return False


def _marked(result: Any) -> Any:
    if getattr(result, "requires_grad", False):
        result.__dict__[MARK] = True
    return result


def _mark_all(module: Any) -> None:
    for parameter in module.parameters():
        parameter.__dict__[MARK] = True
