"""The plain values of the script: counters, lists that grow, attributes of its own objects."""

from __future__ import annotations

import ctypes
import functools
import sys
from collections import deque
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, cast

from ...watching.naming import is_project

if TYPE_CHECKING:
    from ...watching.watch import Watch

DEEP, DEEPER = 4, 8  # how far objects of the script, and of a trainer, are looked into
MANY = 2_000  # items of a container that is looked into
LARGEST = 1_000_000  # numbers of a tensor that is copied
KEPT = frozenset({"_parameters", "_buffers", "_modules"})
"""What of modules is kept elsewhere."""
MISSING = object()
TRAINERS = frozenset({"transformers", "accelerate", "lightning", "pytorch_lightning"})
"""The packages whose objects count for a trainer where it went on."""


class Plain:
    """The names of some frames and what they stand for, and what is in the containers and objects behind them.

    `own`: the frames are the script's, and so are the objects that are looked into; else both are a trainer's.
    """

    def __init__(self, watch: Watch, frames: list[Any], *, own: bool = True) -> None:
        self._own = own
        self._watch = watch
        torch = watch.torch
        self._left_out = (
            torch.optim.Optimizer,
            torch.utils.data.DataLoader,
            torch.utils.data.Dataset,
            torch.utils.data.Sampler,
            ModuleType,
            FunctionType,
            type,
        )
        self._known: set[int] = set()
        self._containers: list[tuple[Any, Any]] = []
        self._objects: list[tuple[dict[str, Any], dict[str, Any]]] = []
        self._tensors: list[tuple[Any, Any]] = []
        self._frames = [(frame, dict(frame.f_locals)) for frame in frames]
        spaces = {id(frame.f_globals): frame.f_globals for frame in frames if own}
        self._globals = [(space, _named(space)) for space in spaces.values()]
        for _, names in (*self._frames, *self._globals):
            for name, value in names.items():
                if not name.startswith("__"):
                    self._look(value, DEEP if own else DEEPER)

        self._held = [sys.getrefcount(container) for container, _ in self._containers]

    def let_go(self) -> None:
        """What the script holds no longer is held by us alone: it is emptied of what was put into it since."""
        for (container, values), held in zip(self._containers, self._held):
            if sys.getrefcount(container) < held:
                _refill(container, values)

    def restore(self) -> None:
        """All of it is as it was; names that are new stay."""
        for container, values in self._containers:
            _refill(container, values)
        for held, values in self._objects:
            for name, value in values.items():
                if held.get(name, MISSING) is not value:
                    held[name] = value
        with self._watch.torch.no_grad():
            for tensor, values in self._tensors:
                if tensor.shape == values.shape:
                    tensor.detach().copy_(values)
        for space, names in self._globals:
            _rebind(space, names)
        for frame, names in self._frames:
            if frame.f_locals is not frame.f_globals:
                changed = _rebind(frame.f_locals, names)
                if changed and sys.version_info < (
                    3,
                    13,
                ):  # from then on it writes through: https://peps.python.org/pep-0667
                    ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(0))

    def _look(self, value: Any, deep: int) -> None:
        if not deep or id(value) in self._known or isinstance(value, self._left_out):
            return
        if isinstance(value, self._watch.torch.Tensor):
            self._known.add(id(value))
            if value.grad_fn is None and not value.requires_grad and value.numel() <= LARGEST and not value.is_sparse:
                self._tensors.append((value, value.detach().clone()))
        elif isinstance(value, (list, dict, set, deque)) and self._is_container(type(value)):
            self._known.add(id(value))
            if len(value) <= MANY:
                self._containers.append((value, value.copy()))
                for each in list(value.values() if isinstance(value, dict) else value):
                    self._look(each, deep - 1)
        elif isinstance(value, tuple):
            for each in value[:MANY]:
                self._look(each, deep - 1)
        elif hasattr(value, "__dict__") and self._is_own(value):
            self._known.add(id(value))
            held, kind = vars(value), cast("Any", type(value))
            known = None if self._own else _of_trainers(kind)
            values = {
                name: each for name, each in held.items() if name not in KEPT and (known is None or name in known)
            }
            self._objects.append((held, values))
            for each in list(values.values()):
                self._look(each, deep - 1)
            if isinstance(value, self._watch.torch.nn.Module):
                for part in list(held.get("_modules", {}).values()):
                    self._look(part, deep - 1)

    def _is_container(self, kind: type) -> bool:
        return kind.__module__ in {"builtins", "collections"} or (not self._own and _of_trainer(kind))

    def _is_own(self, value: Any) -> bool:
        if not self._own:
            return any(map(_of_trainer, type(value).__mro__))
        module = isinstance(value, self._watch.torch.nn.Module)
        return module or is_project(type(value), self._watch.recorder)


def _of_trainer(kind: type) -> bool:
    return kind.__module__.partition(".")[0] in TRAINERS


@functools.cache
def _of_trainers(kind: type) -> frozenset[str] | None:
    """The attributes that a library's methods name, of a class that the script derives from it; None: all are the library's."""
    if _of_trainer(kind):
        return None
    methods = [each for base in kind.__mro__ if _of_trainer(base) for each in vars(base).values()]
    codes = [each.__code__ for each in methods if isinstance(each, FunctionType)]
    return frozenset(name for code in codes for name in code.co_names)


def _named(space: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value
        for name, value in space.items()
        if not name.startswith("__") and not isinstance(value, (ModuleType, FunctionType, type))
    }


def _rebind(space: Any, names: dict[str, Any]) -> bool:
    changed = [name for name, value in names.items() if space.get(name, MISSING) is not value]
    for name in changed:
        space[name] = names[name]
    return bool(changed)


def _refill(container: Any, values: Any) -> None:
    if isinstance(container, list):
        if len(container) != len(values) or any(a is not b for a, b in zip(container, values)):
            container[:] = values
    else:
        container.clear()
        container.update(values) if hasattr(container, "update") else container.extend(values)
