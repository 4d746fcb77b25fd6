"""The GPU that the script asks for: the CPU."""

from __future__ import annotations

from typing import Any

from .. import told
from ..stand_in import StandIn
from . import loading, types
from .devices import Devices, needed
from .factories import Factories, named
from .lineage import Lineage
from .memory import GpuContents
from .moves import MoveReplacements
from .queries import Queries


class Gpu(StandIn):
    """Patches whatever moves to a GPU, makes something there, or asks for one."""

    replaces = "torch finds no GPU"
    voids = (told.DEVICE,)

    @classmethod
    def look(cls, torch: Any) -> None:
        """Which functions of torch make tensors."""
        named(torch)

    def needed(self, torch: Any) -> bool:
        """Whether there is no GPU, or the user wants none."""
        return needed(torch, self.plan)

    def with_torch(self, torch: Any) -> None:
        """Patches torch; with `pretend` in the plan the script is told that there is a GPU."""
        why = "--device cpu" if torch.cuda.is_available() else ""
        pretend = bool(self.plan.get("pretend"))
        devices = Devices(torch, lambda: self.tell("cuda", "the CPU", why=why))
        insists = pretend or bool(self.learnt.of("gpu"))
        memory = GpuContents(torch)
        if not pretend:  # else the places of all tensors are followed
            memory.on_use = Lineage(torch, memory).begin
        MoveReplacements(torch, devices, memory).patch()
        Factories(torch, devices, memory).patch()
        loading.patch(torch, devices)
        types.patch(torch, devices, memory, pretend=pretend)
        Queries(torch, self.sources, devices.tell, insists=insists, processes=self.ranks.count).patch()
