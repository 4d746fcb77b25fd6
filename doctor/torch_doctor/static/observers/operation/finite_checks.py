"""Calls that test for NaN or Inf."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from torch_doctor.static.observer import Observer, override
from torch_doctor.static.values import Call, Lib, Value
from torch_doctor.trace import FiniteChecked

if TYPE_CHECKING:
    from torch_doctor.static.run import Run


class FiniteChecks(Observer):
    """Calls that test for NaN or Inf, or may do so: what they are called says so."""

    writes = (FiniteChecked,)

    @override
    def invoked(self, run: Run, func: Value, call: Call) -> None:
        """Write a call of which the name speaks of such numbers."""
        if _speaks_of_them(func.name if isinstance(func, Lib) else call.name):
            run.emit(FiniteChecked, call.node, function=call.name)


@lru_cache(maxsize=4096)
def _speaks_of_them(name: str) -> bool:
    last = name.rpartition(".")[2].lower()
    return any(word in last for word in ("nan", "finite", "isinf"))
