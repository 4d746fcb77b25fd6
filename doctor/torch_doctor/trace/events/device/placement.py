"""Placement: the devices of tensors and modules, and operations on tensors of several devices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace.events.event import Event
from torch_doctor.trace.events.wording import on_one_line, quoted, short

if TYPE_CHECKING:
    from torch_doctor.trace.events.event import TensorFact
    from torch_doctor.trace.events.names import Names
    from torch_doctor.trace.site import Site
    from torch_doctor.trace.words import Tri


class Moved(Event, frozen=True, kw_only=True):
    """A tensor or module is moved to a device or dtype: `.to(...)`, `.cuda()`, `.cpu()` and so on."""

    module: int
    """The module; 0 for a tensor."""
    name: str
    """The expression that is moved."""
    device: str
    """The type of the device; "" if there is none or it is unknown."""
    used: bool = True
    """Whether the script uses the result."""
    dtype: str = ""
    """The dtype; "" if there is none or it is unknown."""
    gpu: str = ""
    """The number of the GPU, "current" if the move names none, or "" if unknown. Only the static witness knows it."""

    def introduce(self, names: Names) -> None:
        names.spelled(self.module, self.name, self.scope)

    def words(self, _: Names, /) -> str:
        return (
            f"move {quoted(self.name)} to {self.device or 'a device'}{'' if self.used else '; the result is discarded'}"
        )


class MoveLost(Event, frozen=True, kw_only=True):
    """A statement moves a tensor from the CPU to another device and discards the result."""

    name: str
    """The expression that is moved."""
    device: str
    """The type of the device; "" if unknown."""
    elements: int
    """The number of elements of the tensor; 0 if unknown."""

    def words(self, _: Names, /) -> str:
        return f"move {quoted(self.name)} to {self.device or 'a device'}; the result is discarded and the tensor is not moved"


class DevicesMet(Event, frozen=True, kw_only=True):
    """An operation that needs all tensors on one device gets one on the CPU and one on the GPU."""

    operation: str
    """The name of the operation."""
    loss: bool
    """Whether the operation is a loss."""
    elements: int
    """The number of elements of the tensor on the CPU; 0 if unknown."""
    how: str
    """How it came to the CPU: "made" (a function creates it), "batch" (from a loader), "parameter" or "moved"."""
    proof: str
    """The error of torch for the same operation on tensors of these devices; "" if it was not run."""
    since: Site | None = None
    """Where it came to the CPU."""
    inside: bool = False
    """Whether it is created while a module is called."""
    given: bool = False
    """Whether the module that is called at `forward_site` gets it as an argument."""
    lost: bool = False
    """Whether it was moved to the GPU before and the result was discarded."""
    forward_site: Site | None = None
    """Where the module is called."""
    name: str = ""
    """The name of the module in the script."""
    moved_at: Site | None = None
    """Where the other tensor is moved to the GPU; None if unknown."""
    beside: str = ""
    """An input of the function that creates it; "" if there is none."""

    def words(self, _: Names, /) -> str:
        numbers = f"{self.elements} values" if self.elements else "a tensor" if self.how != "parameter" else "weights"
        return f"{self.operation} gets {numbers} on the CPU and others on the GPU"


class ArrayRead(Event, frozen=True, kw_only=True):
    """A tensor is converted to an array."""

    function: str
    """The method or function that converts it."""
    value: TensorFact
    """The tensor."""
    gpu: Tri = None
    """Whether the tensor is on the GPU if the machine has one."""
    since: Site | None = None
    """Where the tensor came to the GPU."""
    at: Site | None = None
    """Where the tensor is written in the script."""
    raised: str = ""
    """The error of torch if it rejects the conversion; "" otherwise."""

    def words(self, _: Names, /) -> str:
        where = {True: ", which is on the GPU", False: ", which is on the CPU", None: ""}[self.gpu]
        refused = f": {on_one_line(self.raised)}" if self.raised else ""
        return f"{short(self.function)} creates an array from {self.value.words()}{where}{refused}"


class DevicesAgreed(Event, frozen=True, kw_only=True):
    """A forward, a loss or an ineffective move has all tensors on the GPU; for a forward also the first parameter."""

    tensors: int
    """The number of tensors."""
    times: int
    """How often it happened."""

    def words(self, _: Names, /) -> str:
        return f"all {self.tensors} tensors are on the GPU ({self.times} times)"


class DevicesDiffer(Event, frozen=True, kw_only=True):
    """A copy of a module returns another output on the GPU than on the CPU. Only the probe writes it."""

    module: int
    """The module."""
    name: str
    """The name of the module in the script."""
    largest: float
    """The largest difference."""
    allowed: float
    """The largest difference that rounding explains."""
    elements: int
    """The number of elements that differ by more than that."""

    def words(self, _: Names, /) -> str:
        return f"`{self.name}` on the CPU and on the GPU: {self.elements} values differ by up to {self.largest:.4g}"
