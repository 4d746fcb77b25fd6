"""Calls that seed a generator of random numbers."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from torch_doctor.static.observer import Observer
from torch_doctor.static.values import Call, Lib, Value
from torch_doctor.trace import Seeded

if TYPE_CHECKING:
    from torch_doctor.static.run import Run


class Seeding(Observer):
    """Calls that give a seed, or may do so: by whatever library, what does it or what is given says so."""

    writes = (Seeded,)

    def invoked(self, run: Run, func: Value, call: Call) -> None:
        """Write a call that names a seed."""
        name = func.name if isinstance(func, Lib) else call.name
        if (
            _names_a_seed(name)
            or _names_a_seed(call.name)
            or (call.keywords and any("seed" in each for each in call.keywords))
        ):
            run.emit(Seeded, call.node, function=name)


@lru_cache(maxsize=4096)
def _names_a_seed(name: str) -> bool:
    return "seed" in name.lower()
