"""The CPU stands in for CUDA where there is none: what is moved to a GPU stays, and computes, on the CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import loading, types
from .devices import Devices
from .factories import Factories
from .moves import Moves
from .queries import Queries

if TYPE_CHECKING:
    from types import ModuleType

    from ..source import Sources
    from ..told import Teller


def install(
    torch: ModuleType, sources: Sources, teller: Teller, why: str, *, pretend: bool = False, processes: int = 1
) -> None:
    """Patches torch; `why` reads after "for": `no GPU that torch can use`. `pretend`: the script is told that there is one.

    `processes` run the script, each on a GPU of its own, as it believes.
    """
    devices = Devices(torch, teller, why)
    Moves(torch, devices).patch()
    Factories(torch, devices).patch()
    loading.patch(torch, devices)
    types.patch(torch, devices, pretend=pretend)
    Queries(torch, sources, devices.tell, insists=pretend, processes=processes).patch()
