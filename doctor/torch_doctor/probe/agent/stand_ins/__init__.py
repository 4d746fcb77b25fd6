"""Stand-ins for what a script needs and this machine does not have: a GPU, data, pretrained weights, arguments, trackers.

Each is told, with what it makes meaningless (`voids`, the words of `told`); what cannot be known is not made up. A new one
is a new module with a subclass of `StandIn`: all are found by walking this package, and that of libraries.
"""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any

from .. import discovery, libraries
from ..guard import captured
from .learnt import Learnt
from .source import Sources
from .stand_in import Setting, StandIn
from .told import Teller

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType

    from ..ranks import Ranks

__all__ = ["StandIns", "stand_ins"]


class StandIns:
    """All stand-ins of one run; `sources` are the user's.

    Args:
        plan: `script` (absolute path), `project` (absolute folder of the user's own files), `args`, `device`.
        tell: called as `tell("stand_in", what=…, for_=…, how=…, voids=[…])`, `tell("missing", what=…, text=…)`,
            `tell("asked", text=…, missing=[…])` (followed by the exception `Asked`) and `tell("note", text=…)`.
        ranks: this process among those that run the script.
    """

    def __init__(self, plan: Mapping[str, Any], tell: Callable[..., None], ranks: Ranks) -> None:
        self.sources = Sources(plan["project"], plan["script"])
        learnt = Learnt(plan.get("lessons") or (), lambda number: tell("learnt", number=number))
        setting = Setting(plan, self.sources, Teller(tell), ranks, learnt)
        self.teller = setting.teller
        self._all = [kind(setting) for kind in stand_ins().values()]

    def of(self, kind: type[StandIn]) -> Any:
        """The one of a kind."""
        return next(each for each in self._all if type(each) is kind)

    def prepare(self) -> None:
        """Sets everything up that has to be in place before the script starts, and hooks for what it may import."""
        with captured.followed():
            for each in self._all:
                each.prepare()

    def with_torch(self, torch: ModuleType) -> None:
        """Patches torch right after its import; it may come first, where torch is there already."""
        for each in self._all:
            if each.needed(torch):
                each.with_torch(torch)

    def at_end(self, error: BaseException | None) -> bool:
        """Whether the script, which ended with this error or without, counts as done."""
        return any(each.at_end(error) for each in self._all)


@functools.cache
def stand_ins() -> dict[str, type[StandIn]]:
    """All stand-ins by the names of their classes, in the order in which they are installed."""
    found = {
        name: kind
        for package in (sys.modules[__name__], libraries)
        for module in discovery.modules(package)
        for name, kind in vars(module).items()
        if isinstance(kind, type)
        and issubclass(kind, StandIn)
        and kind.__module__ == module.__name__
        and kind is not StandIn
    }
    return discovery.in_order(found, lambda kind: kind.installed_after)
