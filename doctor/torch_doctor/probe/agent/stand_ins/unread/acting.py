"""What stands in for a model, a loss or an optimizer in the last resort, where a placeholder is used as one."""

from __future__ import annotations

import ast
import functools
from typing import TYPE_CHECKING, Any

from .. import told
from ..batches.at_hand import models
from ..batches.wanted import Wanted
from ..unknown.layers import layer_class
from ..unknown.roles import MODULE as MODULE_ROLE
from ..unknown.roles import OF_MODULES, OF_OTHERS_TOO, uses_of_name
from ..unknown.things import current
from .content import UnknownFormError, Unread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import FrameType

    from ..source import Sources

OF_OPTIMIZERS = frozenset({"step", "zero_grad"})
RATE = 0.01
UNKNOWN = "nothing that was run gives it"
OPTIMIZER = (told.RATES, told.OPTIMIZER)
"""What is unknown of an optimizer that nobody knows."""
MODULE = (told.VALUES, told.SHAPES, told.WEIGHTS, told.FILES, told.INSIDE)
"""What is unknown of a model or a loss that nobody knows."""


def is_module(sources: Sources, frame: FrameType, name: str) -> bool:
    """Whether the script takes what this name holds for a model: what it calls alone may be anything."""
    uses = uses_of_name(sources, frame, name)
    return uses.role == MODULE_ROLE and bool(uses.methods & OF_MODULES - OF_OTHERS_TOO)


class Acting:
    """Makes them when they are asked for what only they have, each once.

    `is_direct`: a function of the script is called with placeholders, which may be anything, and not by the script.
    """

    def __init__(self, torch: Any, sources: Sources, tell: Callable[..., None]) -> None:
        self._torch = torch
        self._sources = sources
        self._tell = tell
        self._made: dict[Any, Any] = {}
        self.is_direct = False
        Unread.acts, Unread.called = self._acts, self._called

    def module(self, name: str) -> Any:
        """A model of which only the use is known."""
        current().explain(name, UNKNOWN)
        self._tell(name, "a module whose output fits the script", why=UNKNOWN, voids=MODULE)
        return layer_class(self._torch)(current(), name, (), trained=True)

    def optimizer(self, models: Iterable[Any]) -> Any:
        """One for all parameters of some models."""
        parameters = dict.fromkeys(each for model in models for each in model.parameters() if each.requires_grad)
        if not parameters:
            message = "there is nothing to optimize"
            raise UnknownFormError(message)
        self._tell("an optimizer", "torch.optim.SGD for all models at hand", why=UNKNOWN, voids=OPTIMIZER)
        return self._torch.optim.SGD(list(parameters), lr=RATE)

    def _acts(self, unread: Unread, name: str) -> Any:
        made = self._made.get(id(unread._node))
        if made is None and (name == "backward" or (name == "step" and self._has_optimizer())):
            return functools.partial(self._done, name)  # by what scales losses, or of a schedule
        if made is None:
            made = (
                self.optimizer(models(self._torch, self._sources)) if name in OF_OPTIMIZERS else self.module(told.PATH)
            )
            self._made[id(unread._node)] = made
        return getattr(made, name)

    def _done(self, name: str, *arguments: Any, **_: Any) -> Any:
        """The step of the optimizer, or the backward of the loss, that is given; else nothing."""
        given = arguments[0] if arguments else None
        if isinstance(given, self._torch.optim.Optimizer):
            return given.step()
        if isinstance(given, self._torch.Tensor):
            return given.backward()
        if name == "backward":
            message = "there is no loss to go backward from"
            raise UnknownFormError(message)
        self._tell(
            "a schedule that was not read",
            "a scheduler that changes no learning rate",
            why=UNKNOWN,
            voids=[told.RATES, told.OPTIMIZER],
        )
        return None

    def _called(self, unread: Unread, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        made = self._made.get(id(unread._node))
        if made is not None:
            return made(*arguments, **keywords)
        given, tensor = (*arguments, *keywords.values()), self._torch.Tensor
        if any(isinstance(each, (self._torch.nn.Module, self._torch.optim.Optimizer)) for each in given):
            self._tell("a function that gets a model", "a call that does nothing", why=UNKNOWN, voids=[told.ACTIONS])
        elif self.is_direct and self._is_for_itself():
            Unread.chooses()  # it may do anything to what it knows
        elif any(isinstance(each, tensor) and type(each) is not Wanted and each.requires_grad for each in given):
            self._tell(
                "a function that gets what a model gives", "values that fit the script", why=UNKNOWN, voids=MODULE
            )
            current().explain(told.PATH, UNKNOWN)
            return current().computed(f"{told.PATH} {id(unread._node)}", told.PATH, (arguments, keywords), None, ())
        elif self.is_direct:
            Unread.chooses()  # it may hold what the loop goes through, or its model
        return None

    def _is_for_itself(self) -> bool:
        """Whether the script calls something for what it does, and not for what it gives."""
        frame = self._sources.innermost()
        statement = next(iter(self._sources.statements(frame)), None) if frame is not None else None
        return isinstance(statement, ast.Expr)

    def _has_optimizer(self) -> bool:
        """Whether there is an optimizer among the values of the user's frames."""
        kind = self._torch.optim.Optimizer
        spaces = [space for frame in self._sources.frames() for space in (frame.f_locals, frame.f_globals)]
        held = [getattr(space.get("self"), "__dict__", {}) for space in spaces]
        values = [each for space in (*spaces, *held, self._made) for each in list(space.values())]
        return any(isinstance(each, kind) for each in values)
