"""Devices that nobody knows: what is moved to a placeholder stays where it is."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from .. import told
from ..cuda.devices import needed
from ..cuda.factories import named
from ..silent import Silent
from ..stand_in import StandIn
from ..unread.content import Unread

if TYPE_CHECKING:
    from collections.abc import Callable

MOVING = ("to", "cuda")
SAME = frozenset({"non_blocking", "copy", "memory_format"})
"""Arguments of a move that say nothing of where to."""


class UnknownDevices(StandIn):
    """Leaves out a device that a script takes from a module or a file that is not there."""

    replaces = "device not known"
    voids = (told.DEVICE,)
    installed_after = ("Gpu",)

    def needed(self, torch: Any) -> bool:
        """Whether a GPU is stood in for: else moves are left as they are."""
        return needed(torch, self.plan)

    def with_torch(self, torch: Any) -> None:
        """Patches the moves of tensors and modules, and what makes tensors."""
        for kind in (torch.Tensor, torch.nn.Module):
            for name in MOVING:
                setattr(kind, name, self._moving(getattr(kind, name)))
        for space, names in named(torch):
            for name in names:
                setattr(space, name, self._made(getattr(space, name)))

    def _moving(self, move: Callable[..., Any]) -> Any:
        @functools.wraps(move)
        def moved(thing: Any, *arguments: Any, **keywords: Any) -> Any:
            if not any(map(_is_unknown, (*arguments, *keywords.values()))):
                return move(thing, *arguments, **keywords)
            self.tell("a device", "none")
            known = [each for each in arguments if not _is_unknown(each) and not isinstance(each, bool)]
            others = {key: each for key, each in keywords.items() if not _is_unknown(each)}
            return move(thing, *known, **others) if known or not SAME.issuperset(others) else thing

        return moved

    def _made(self, make: Callable[..., Any]) -> Any:
        @functools.wraps(make)
        def made(*arguments: Any, **keywords: Any) -> Any:
            if "device" in keywords and _is_unknown(keywords["device"]):
                self.tell("a device", "none")
                del keywords["device"]
            return make(*arguments, **keywords)

        return made


def _is_unknown(value: Any) -> bool:
    return type(value) is Unread or isinstance(value, Silent)
