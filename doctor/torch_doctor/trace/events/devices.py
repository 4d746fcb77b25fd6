"""What is where: tensors of several devices that meet, and moves that come to nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch_doctor.trace.events.event import Event

if TYPE_CHECKING:
    from torch_doctor.trace.site import Site


@dataclass(slots=True, kw_only=True, eq=False)
class DevicesMet(Event):
    """An operation, at `site`, got a tensor on the CPU and one on the GPU, and takes only one device.

    `operation` is its name, `loss` whether it is a loss. `elements` counts the numbers of the tensor on the CPU (0: not
    known), which is there since `made_at`: `how` says "made" (by a function that makes tensors), "batch" (a loader gave
    it), "parameter" or "moved" (the script wants it there). `inside`: it was made while a module was called. `given`: the
    module that was called at `forward_site` as `name` got it. `lost`: it was moved to the GPU before, and the result was
    dropped. `moved_at` is where the other one went to the GPU, where that is known. `proof` is what torch says to the same
    operation on tensors of these devices ("": nobody asked it).
    """

    operation: str
    loss: bool
    elements: int
    how: str
    proof: str
    made_at: Site | None = None
    inside: bool = False
    given: bool = False
    lost: bool = False
    forward_site: Site | None = None
    name: str = ""
    moved_at: Site | None = None


@dataclass(slots=True, kw_only=True, eq=False)
class MoveLost(Event):
    """A tensor on the CPU was moved to `device` ("": not known to which) by a statement that drops the result.

    `elements` counts its numbers (0: not known).
    """

    name: str
    device: str
    elements: int


@dataclass(slots=True, kw_only=True, eq=False)
class DevicesAgreed(Event):
    """A forward or a loss, or a move that nothing came of, at `site`, had all its tensors on the GPU, each of `times` times.

    Of a forward also the first parameter. `tensors` is how many these were.
    """

    tensors: int
    times: int
