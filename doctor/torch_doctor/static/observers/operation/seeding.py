"""Calls that seed a generator of random numbers."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from torch_doctor.static.observer import Observer, override
from torch_doctor.static.tables import libraries
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.values import Call, Lib, Value
from torch_doctor.trace import Seeded

if TYPE_CHECKING:
    from torch_doctor.static.run import Run


class Seeding(Observer):
    """Calls that give a seed, or may do so: what does it or what is given says so, or nobody knows what is called."""

    writes = (Seeded,)

    @override
    def invoked(self, run: Run, func: Value, call: Call) -> None:
        """Write a call that names a seed, or may know one."""
        name = func.name if isinstance(func, Lib) else call.name
        if _names_a_seed(call.name) or (name is not call.name and _names_a_seed(name)) or _is_given_one(call):
            run.emit(Seeded, call.node, function=name)
        elif isinstance(func, Lib) and _is_unseen(func.name):
            run.emit(Seeded, call.node, function=name, surely=False)


def _is_given_one(call: Call) -> bool:
    return bool(call.keywords) and any("seed" in each for each in call.keywords)


@lru_cache(maxsize=4096)
def _is_unseen(name: str) -> bool:
    """Whether it is a package's of which nothing is known: it may prepare the run as a whole."""
    return not libraries.heard_of(canonical(name))


@lru_cache(maxsize=4096)
def _names_a_seed(name: str) -> bool:
    return "seed" in name.lower()
