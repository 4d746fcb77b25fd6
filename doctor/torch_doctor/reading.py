"""Which events rules may look at: those that their modules name, so that a scan makes no others."""

from __future__ import annotations

import sys
from functools import cache
from types import ModuleType

from torch_doctor.trace import EVENTS, Event


@cache
def events_named_in(module: str) -> frozenset[type[Event]]:
    """The events that a module names, or one that it uses of its package, or one that these use."""
    found: set[type[Event]] = set()
    seen, waiting = {module}, [module]
    while waiting:
        events, homes = _names_in(waiting.pop())
        found |= events
        waiting += homes - seen
        seen |= homes
    return frozenset(found)


@cache
def _names_in(module: str) -> tuple[frozenset[type[Event]], frozenset[str]]:
    """The events that a module names, and the modules of its package of which it names something."""
    package = module.partition(".")[0]
    events: set[type[Event]] = set()
    homes: set[str] = set()
    for value in list(vars(sys.modules[module]).values()):
        if isinstance(value, type) and issubclass(value, Event):
            if value is not Event:
                events |= _kinds_of(value)
            continue
        home = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
        if isinstance(home, str) and home.partition(".")[0] == package and home in sys.modules:
            homes.add(home)
    return frozenset(events), frozenset(homes)


@cache
def _kinds_of(event: type[Event]) -> frozenset[type[Event]]:
    """The classes of events that are of this one."""
    return frozenset((event,)).union(*map(_kinds_of, event.__subclasses__())) & frozenset(EVENTS.values())
