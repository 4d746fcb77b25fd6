"""Reads back what the script saved of a model, into the model as it was at first: does it answer as the one that was saved?"""

from __future__ import annotations

import contextlib
import copy
import inspect
import io
import os
import sys
from typing import TYPE_CHECKING, Any

from ...identities import IdentityMap
from ...watching.naming import is_project
from ..copies import copied, elements
from ..instrument import Instrument as Base
from ..parts import tensors

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...scopes import Here
    from ...watching.watch import Watch

LARGEST = 20_000_000  # parameters of a model that is copied
MOST = 4  # saves that are looked at
DEEP = 3
PLAIN = (int, float, str, bool, type(None))
PREFIX = "module."  # of what DataParallel and its like save


class First:
    """A model as it was when it was first called, what it was called with, and what it is called."""

    __slots__ = ("given", "model", "name")

    def __init__(self, model: Any, given: tuple[Any, Any], name: str) -> None:
        self.model = model
        self.given = given
        self.name = name


class Instrument(Base):
    """Keeps a copy of each model that is called as a whole, and tries on it what is saved of the model later."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._firsts: IdentityMap[First | None] = IdentityMap()
        self._built: IdentityMap[dict[str, Any]] = IdentityMap()
        self._looked = 0
        watch.patches.replace(watch.torch.nn.Module, "__init__", self._building)

    def _building(self, original: Any) -> Any:
        """Remembers with which plain values a class of the project's was called."""

        def __init__(module: Any, *arguments: Any, **keywords: Any) -> None:  # noqa: N807
            original(module, *arguments, **keywords)
            if not self.watch.recorder.quiet:
                self._remember(module, sys._getframe(1))

        return __init__

    def _remember(self, module: Any, frame: Any) -> None:
        names, more, named, values = inspect.getargvalues(frame)
        if type(module).__init__.__code__ is frame.f_code and not more and not named and values.get(names[0]) is module:
            given = {name: values[name] for name in names[1:]}
            if all(isinstance(value, PLAIN) for value in given.values()):
                self._built[module] = given

    def before_forward(self, module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], here: Here) -> None:
        """A model is called for the first time: it is copied with what it is given."""
        if module in self._firsts:
            return
        self._firsts[module] = None
        parameters = self.watch.modules.family(module).parameters
        if not parameters or elements(self.watch, parameters) > LARGEST:
            return
        with self._aside(), contextlib.suppress(Exception):
            given = copied(self.watch, (arguments, keywords))
            self._firsts[module] = First(copied(self.watch, module), given, self.watch.recorder.caller(here.site))

    def on_save(self, saved: Any, target: Any, here: Here, event: int) -> None:
        """Something was saved: the states in it are tried on the models that they are of."""
        for module, first in list(self._firsts.items()):
            if first is None or self._looked >= MOST:
                continue
            state = next((each for each in _states(saved, DEEP) if self._is_of(each, module)), None)
            if state is None:
                continue
            self._looked += 1
            with self._aside(), contextlib.suppress(Exception):
                found = self._tried(module, first, _read(self.watch.torch, target, state))
                if found is not None:
                    self.watch.recorder.event(
                        "RoundTripped",
                        here,
                        saved=event,
                        module=self.watch.recorder.references.number(module),
                        name=first.name,
                        difference=found[0],
                        lost=found[1],
                    )

    def _is_of(self, state: dict[str, Any], module: Any) -> bool:
        """Whether a state is all of what the module is made of now."""
        now = module.state_dict()
        if len(now) != len(state):
            return False
        equal = self.watch.torch.equal
        named = {key.removeprefix(PREFIX): value for key, value in state.items()}
        tensor = self.watch.torch.Tensor
        return all(
            key.removeprefix(PREFIX) in named
            and isinstance(value, tensor)
            and equal(value.cpu(), named[key.removeprefix(PREFIX)].cpu())
            for key, value in now.items()
        )

    def _tried(self, module: Any, first: First, state: dict[str, Any]) -> tuple[float, list[str]] | None:
        """How far the answers are apart, and what is other in the copy; None where it cannot be told."""
        saved = copied(self.watch, module).eval()
        other = (self._rebuilt(module) or copied(self.watch, first.model)).eval()
        keys = other.state_dict().keys()
        bare = {key if key in keys else key.removeprefix(PREFIX): value for key, value in state.items()}
        if set(bare) != set(keys):
            return None
        other.load_state_dict(bare)
        lost = [name for name, value in _held(saved) if not self._same(value, dict(_held(other)).get(name))]
        one, again = self._answer(saved, first), self._answer(saved, first)
        if one is None or not self._same(one, again):
            return None  # it carries something from call to call
        back = self._answer(other, first)
        if back is None or back.shape != one.shape:
            return None
        apart = float((one.double() - back.double()).abs().max()) if one.numel() else 0.0
        return (0.0, []) if self._same(one, back) else (apart, lost)

    def _rebuilt(self, module: Any) -> Any:
        """The module built anew; None where it has nothing that a copy would not show, or where that is not known."""
        given = self._built.get(module)
        if given is None or not is_project(type(module), self.watch.recorder) or not any(_loose(module)):
            return None
        with contextlib.redirect_stdout(io.StringIO()):
            return type(module)(**copy.deepcopy(given))

    def _answer(self, module: Any, first: First) -> Any:
        """The first tensor of numbers that the module answers."""
        torch = self.watch.torch
        given, keywords = copied(self.watch, first.given)
        torch.manual_seed(1)
        with torch.no_grad():
            found = tensors(module(*given, **keywords))
        return next((each for each in found if each.is_floating_point()), None)

    def _same(self, one: Any, other: Any) -> bool:
        if other is None or one.shape != other.shape:
            return False
        return bool(self.watch.torch.allclose(one.double(), other.double(), rtol=1e-4, atol=1e-6, equal_nan=True))

    @contextlib.contextmanager
    def _aside(self) -> Iterator[None]:
        """The script sees nothing of it, and random numbers are drawn on the side."""
        with self.watch.unwatched(), self.watch.torch.random.fork_rng(devices=[]):
            yield


def _states(saved: Any, deep: int) -> Iterator[dict[str, Any]]:
    """The states in what is saved: dictionaries of tensors by name."""
    if not isinstance(saved, dict) or not saved:
        return
    if all(isinstance(key, str) and hasattr(value, "untyped_storage") for key, value in saved.items()):
        yield dict(saved)
    elif deep:
        for value in saved.values():
            yield from _states(value, deep - 1)


def _read(torch: Any, target: Any, state: dict[str, Any]) -> dict[str, Any]:
    """The state as it stands in the file; as it was handed over, where that cannot be read."""
    if isinstance(target, (str, os.PathLike)):
        with contextlib.suppress(Exception):
            read = torch.load(target, map_location="cpu", weights_only=True)
            return next((each for each in _states(read, DEEP) if each.keys() == state.keys()), state)
    return state


def _held(module: Any) -> Iterator[tuple[str, Any]]:
    """The tensors of a module by name: parameters, buffers, and those that are attributes of its parts."""
    yield from module.named_parameters()
    yield from module.named_buffers()
    yield from _loose(module)


def _loose(module: Any) -> Iterator[tuple[str, Any]]:
    """The tensors that are plain attributes of a module or of its parts, also in containers, by name."""
    for path, part in module.named_modules():
        for name, value in vars(part).items():
            if not name.startswith("_") and not hasattr(value, "named_modules"):
                for number, tensor in enumerate(tensors(value)):
                    yield f"{path}.{name}{f'[{number}]' if tensor is not value else ''}".strip("."), tensor
