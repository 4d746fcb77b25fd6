"""Whether what a script gives to something unknown reaches a model, a parameter or an optimizer, to which anything may be done."""

from __future__ import annotations

import ast
import contextlib
import functools
import inspect
import types
from itertools import islice
from typing import TYPE_CHECKING, Any

from .. import told
from ..silent import decorated
from . import roles

if TYPE_CHECKING:
    from collections.abc import Iterable

MANY, DEEP = 200, 3  # parts of one thing that are looked at, and how deep they lie
OTHERS = frozenset({"builtins", "torch", "numpy", __name__.partition(".")[0]})
"""Packages whose other objects hold none that matter."""
ACTING = "a call that does nothing to what it receives"
OF_TRAINING = frozenset({"step", "zero_grad"})
SUSPENDED = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


class Receiving:
    """Tells that something unknown may do anything to the models and optimizers that it is given; `unknowns` makes such things."""

    def __init__(self, unknowns: Any) -> None:
        self._unknowns = unknowns
        self._holders: set[str] = set()  # the names of what may keep one

    def call(self, name: str, given: tuple[Any, ...], uses: roles.Uses) -> None:
        """A call of this name is given these values.

        What makes a model, an optimizer or a schedule of what it gets is known by what its result is used for.
        """
        modules = () if uses.role == roles.MODULE else (self._unknowns.torch.nn.Module,)
        actors = modules if uses.methods & OF_TRAINING else (*modules, *self._of_optimizers())
        if any(name.startswith(each) for each in self._holders):
            self._tell(name)
        else:
            self.got(name, given, actors)

    def got(self, name: str, given: tuple[Any, ...], actors: tuple[Any, ...] | None = None) -> None:
        """What has this name got these values, of which only `actors` matter, by default all."""
        nn = self._unknowns.torch.nn
        containers = (each for each in given if type(each) is not nn.Parameter)  # it may as well be an input
        if reaches_actor(containers, (nn.Module, *self._of_optimizers()) if actors is None else actors):
            self._tell(name)

    def keep(self, name: str, value: Any) -> None:
        """Something of this name is given a value that it may keep, as an attribute or an item."""
        torch = self._unknowns.torch
        if torch is not None and reaches_actor([value], (torch.nn.Module, torch.optim.Optimizer)):
            self._holders.add(name)

    def decorated(self, name: str, given: Any) -> Any:
        """A function or class as it is; what the decorator does around each call is unknown."""
        known, unknowns = decorated(name, given), self._unknowns
        frame = unknowns.sources.innermost() if unknowns.torch is not None else None
        if frame is not None and any(isinstance(each, ast.Expr) for each in unknowns.sources.statements(frame)[:1]):
            self.got(name, (given,))  # it is no decorator, and may call it
        if known is not given or not isinstance(given, types.FunctionType) or given.__code__.co_flags & SUSPENDED:
            return known

        @functools.wraps(given)
        def called(*arguments: Any, **keywords: Any) -> Any:
            if unknowns.torch is not None:
                self.got(name, (given, *arguments, *keywords.values()))
            return given(*arguments, **keywords)

        return called

    def _tell(self, name: str) -> None:
        self._unknowns.tell(name, ACTING, (told.VALUES, told.INSIDE, told.ACTIONS))

    def _of_optimizers(self) -> tuple[Any, ...]:
        return self._unknowns.torch.optim.Optimizer, self._unknowns.torch.nn.Parameter


def reaches_actor(values: Iterable[Any], actors: tuple[Any, ...], depth: int = DEEP) -> bool:
    """Whether one of these values is one of `actors`, or holds one: in a container, an attribute, or around a function.

    What stands in for a callable is a module, too: it only counts where it is given itself. Only types are asked: what
    `isinstance` asks of a parameter, a value that is still to be found cannot answer.
    """
    return any(
        (issubclass(type(each), actors) and (depth == DEEP or not hasattr(type(each), "takes_anything")))
        or (depth and reaches_actor(_inside(each), actors, depth - 1))
        for each in islice(values, MANY)
    )


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, (list, tuple, set)):
        return value
    if isinstance(value, types.MethodType):
        return (value.__self__,)
    if isinstance(value, functools.partial):
        return (value.func, *value.args, *value.keywords.values())
    if isinstance(value, types.FunctionType):
        return _named(value)
    if isinstance(value, dict):
        held: Any = value
    elif isinstance(value, (type, types.ModuleType)) or type(value).__module__.partition(".")[0] in OTHERS:
        held = None
    else:
        held = getattr(value, "__dict__", None)
    return held.values() if isinstance(held, dict) else ()


def _named(function: types.FunctionType) -> Iterable[Any]:
    """The values that a function finds around it."""
    around = function.__globals__
    yield from (around[name] for name in function.__code__.co_names if name in around)
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):  # it has none yet
            yield cell.cell_contents
