"""Replaces functions of torch by ones that are watched, hooks into it, and leaves it as it was for code that reads it."""

from __future__ import annotations

import functools
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MISSING = object()


class TorchHook:
    """A function that torch calls until it is removed; `register` has it called, and gives the handle that ends that."""

    def __init__(self, register: Callable[[Any], Any], function: Callable[..., Any]) -> None:
        self.register = register
        self.function = function
        self.handle = register(function)

    def remove(self) -> None:
        """Torch calls it no more."""
        if self.handle is not None:
            self.handle.remove()
            self.handle = None


class Patches:
    """What was replaced, in order, and what torch calls; `failed` is told of what such a function raises."""

    def __init__(self, failed: Callable[[Exception], None]) -> None:
        self._failed = failed
        self._done: list[tuple[Any, str, Any, Any]] = []
        self._hooks: list[TorchHook] = []

    def replace(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        """Puts `make(original)` in the place of `owner.name`; nothing where there is none."""
        original = getattr(owner, name, None)
        if original is None:
            return
        own = vars(owner).get(name, MISSING)
        made = make(original)
        if not isinstance(made, type):  # a class looks like the other by itself
            functools.update_wrapper(made, original)
        setattr(owner, name, made)
        self._done.append((owner, name, own, made))

    def hook(self, register: Callable[[Any], Any], function: Callable[..., Any]) -> TorchHook:
        """Has torch call a function, at each call of any module or step of any optimizer, say, and take what it returns."""
        failed = self._failed

        def told(*arguments: Any) -> Any:
            try:
                return function(*arguments)
            except Exception as error:  # noqa: BLE001 - a fault of the agent must not become one of the script
                failed(error)
                return None

        self._hooks.append(TorchHook(register, told))
        return self._hooks[-1]

    @contextmanager
    def suspended(self) -> Iterator[None]:
        """Everything as it was, for a while: for compilers that read the functions that are called."""
        for owner, name, own, _ in reversed(self._done):
            if own is MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, own)
        hooks = [each for each in self._hooks if each.handle is not None]
        for hook in hooks:
            hook.remove()
        try:
            yield
        finally:
            for hook in hooks:
                hook.handle = hook.register(hook.function)
            for owner, name, _, made in self._done:
                setattr(owner, name, made)
