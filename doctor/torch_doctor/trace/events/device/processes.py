"""Processes: wrappers, process groups, and what their ranks exchange and write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace.events.event import Event
from torch_doctor.trace.events.wording import in_brackets, quoted, short

if TYPE_CHECKING:
    from torch_doctor.trace.events.names import Names
    from torch_doctor.trace.site import Site
    from torch_doctor.trace.words import Tri


class Wrapped(Event, frozen=True, kw_only=True):
    """A module is wrapped for training in several processes or on several devices."""

    module: int
    """The module."""
    name: str
    """The name of the module in the script."""
    wrapper: str
    """The torch name of the wrapper."""
    awaited: frozenset[tuple[int, str]] = frozenset()
    """Owner and name of each trainable layer whose gradient DDP waits for forever. Only the static witness knows them."""
    batch_norms: int = 0
    """The number of trainable batch norms that use only the samples of their own process. Only the static witness counts."""

    def words(self, _: Names, /) -> str:
        return f"wrap {quoted(self.name)} in {short(self.wrapper)}"


class BatchNormsRan(Event, frozen=True, kw_only=True):
    """A module is called whose batch norms normalise by the samples of this call. Only the static witness writes it."""

    forward: int
    """The `Forward` event of the call."""
    norms: int
    """The number of trainable batch norms in it; those of a library's model count as one."""

    def words(self, _: Names, /) -> str:
        return f"normalise by the samples of this call: {self.norms} batch norm{'s' * (self.norms != 1)}"


class GroupBegun(Event, frozen=True, kw_only=True):
    """The process joins a process group by `init_process_group`."""

    backend: str = ""
    """The backend; "" if it is the default or unknown."""
    size: int = 0
    """The number of processes; 0 if unknown, 1 if unresolved code may set it."""
    rank: str = ""
    """The expression for the rank of this process."""
    beside: bool = False
    """Whether several processes run on one machine: the script starts them, or reads its local rank from the launcher."""
    exchanges: frozenset[Site] = frozenset()
    """The calls and mentions of functions that send tensors, in the files that are analyzed so far."""

    def words(self, _: Names, /) -> str:
        how = [f"backend {self.backend}"] * bool(self.backend) + [f"world size {self.size}"] * bool(self.size)
        return f"join a process group{in_brackets(tuple(how))}"


class GpuChosen(Event, frozen=True, kw_only=True):
    """The process chooses its current GPU."""

    function: str
    """The function that chooses it."""
    surely: bool = True
    """Whether it is certain."""

    def words(self, _: Names, /) -> str:
        return f"{quoted(self.function)} {'sets' if self.surely else 'may set'} the current GPU"


class GradientsSeen(Event, frozen=True, kw_only=True):
    """The gradients that an optimizer is about to apply in one of several processes. Only the probe writes it."""

    module: int
    """The module: one that is wrapped, or one that is called as a whole."""
    gradients: tuple[tuple[str, tuple[float, ...]], ...]
    """Parameters by name, each with some elements of its gradient, at the same positions in each process."""
    loss: float | None = None
    """The last loss that went backward; None if it is not a single number."""

    def words(self, _: Names, /) -> str:
        return f"{len(self.gradients)} gradients are about to be applied"


class Exchanged(Event, frozen=True, kw_only=True):
    """The script sends values between processes."""

    function: str
    """The canonical name of the function. In the source, it may also be one that prepares the exchange."""
    numbers: int
    """The number of values; 0 if unknown."""

    def words(self, _: Names, /) -> str:
        return f"{self.function} exchanges {self.numbers or 'some'} values"


class WriterBuilt(Event, frozen=True, kw_only=True):
    """A log writer is created."""

    name: str
    """The expression for the writer."""
    shared: Tri = None
    """Whether all processes of a distributed run write to the same directory."""
    file: str = ""
    """The directory. Only the probe knows it."""
    writer: int = 0
    """The writer."""

    def words(self, _: Names, /) -> str:
        return f"create the writer {quoted(self.name)}"


class WriterUsed(Event, frozen=True, kw_only=True):
    """A log writer gets something to log: `writer.add_scalar("loss", loss, step)`."""

    writer: int
    """The writer."""
    name: str
    """The expression for the method."""

    def words(self, _: Names, /) -> str:
        return f"log with {quoted(self.name)}"
