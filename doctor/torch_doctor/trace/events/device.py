"""Devices and processes: moves, wrappers, precision and time, what differs between them, and APIs of older versions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace.events.event import Event
from torch_doctor.trace.events.wording import in_brackets, on_one_line, quoted, short

if TYPE_CHECKING:
    from torch_doctor.trace.events.event import TensorFact
    from torch_doctor.trace.events.names import Names
    from torch_doctor.trace.site import Site
    from torch_doctor.trace.versions import Version
    from torch_doctor.trace.words import Tri


class Moved(Event, frozen=True, kw_only=True):
    """`.to(...)`, `.cuda()`, `.cpu()`, ...; `module` is 0 for a tensor; `used` is False when the result is dropped.

    `device` is the type of the device it goes to, `dtype` the dtype it gets, "" where it gets none or that is not known.
    `gpu` is the number of the GPU, or "current" where the move names none and goes to the one that the process is set to; ""
    where it is not known. Only the static witness says that.
    """

    module: int
    name: str
    device: str
    used: bool = True
    dtype: str = ""
    gpu: str = ""

    def introduce(self, names: Names) -> None:
        names.spelled(self.module, self.name, self.scope)

    def words(self, _: Names, /) -> str:
        return (
            f"move {quoted(self.name)} to {self.device or 'a device'}{'' if self.used else '; the result is discarded'}"
        )


class MoveLost(Event, frozen=True, kw_only=True):
    """A tensor on the CPU was moved to `device` ("": not known to which) by a statement that drops the result.

    `elements` counts its numbers (0: not known).
    """

    name: str
    device: str
    elements: int

    def words(self, _: Names, /) -> str:
        return f"move {quoted(self.name)} to {self.device or 'a device'}; the result is discarded and the tensor is not moved"


class DevicesMet(Event, frozen=True, kw_only=True):
    """An operation, at `site`, got a tensor on the CPU and one on the GPU, and takes only one device.

    `operation` is its name, `loss` whether it is a loss. `elements` counts the numbers of the tensor on the CPU (0: not
    known), which came there at `since`: `how` says "made" (by a function that makes tensors), "batch" (a loader gave
    it), "parameter" or "moved" (the script wants it there). `inside`: it was made while a module was called. `given`: the
    module that was called at `forward_site` as `name` got it. `lost`: it was moved to the GPU before, and the result was
    dropped. `moved_at` is where the other one went to the GPU, where that is known. `beside` is the name of an input of the
    function that made it, "" where there is none. `proof` is what torch says to the same operation on tensors of these
    devices ("": nobody asked it).
    """

    operation: str
    loss: bool
    elements: int
    how: str
    proof: str
    since: Site | None = None
    inside: bool = False
    given: bool = False
    lost: bool = False
    forward_site: Site | None = None
    name: str = ""
    moved_at: Site | None = None
    beside: str = ""

    def words(self, _: Names, /) -> str:
        numbers = f"{self.elements} values" if self.elements else "a tensor" if self.how != "parameter" else "weights"
        return f"{self.operation} gets {numbers} on the CPU and others on the GPU"


class ArrayRead(Event, frozen=True, kw_only=True):
    """A tensor, `value`, was made an array, by the method or function `function`; it is written at `at`.

    `gpu` tells whether it is on a GPU where the machine has one, since `since`; whether a graph hangs on it, its fact tells.
    `raised` is what torch said, where it refused.
    """

    function: str
    value: TensorFact
    gpu: Tri = None
    since: Site | None = None
    at: Site | None = None
    raised: str = ""

    def words(self, _: Names, /) -> str:
        where = {True: ", which is on the GPU", False: ", which is on the CPU", None: ""}[self.gpu]
        refused = f": {on_one_line(self.raised)}" if self.raised else ""
        return f"{short(self.function)} creates an array from {self.value.words()}{where}{refused}"


class DevicesAgreed(Event, frozen=True, kw_only=True):
    """A forward or a loss, or a move that nothing came of, at `site`, had all its tensors on the GPU, each of `times` times.

    Of a forward also the first parameter. `tensors` is how many these were.
    """

    tensors: int
    times: int

    def words(self, _: Names, /) -> str:
        return f"all {self.tensors} tensors are on the GPU ({self.times} times)"


class DevicesDiffer(Event, frozen=True, kw_only=True):
    """A copy of the module `module`, called `name` at `site`, answers otherwise on the GPU than on the CPU.

    `elements` of its numbers differ by more than is allowed, by `largest` at most, where `allowed` is.
    Only the probe writes it.
    """

    module: int
    name: str
    largest: float
    allowed: float
    elements: int

    def words(self, _: Names, /) -> str:
        return f"`{self.name}` on the CPU and on the GPU: {self.elements} values differ by up to {self.largest:.4g}"


class Wrapped(Event, frozen=True, kw_only=True):
    """A module was wrapped for training in several processes or on several devices, by `wrapper` (its torch name).

    `awaited` are layers in it, each with its owner and its name there, without whose gradients the exchange of
    `DistributedDataParallel` never ends: they train, and it is not told to look for unused parameters. `batch_norms` counts
    those that train and normalise by the rows of their own process. Only the static witness says all that.
    """

    module: int
    name: str
    wrapper: str
    awaited: frozenset[tuple[int, str]] = frozenset()
    batch_norms: int = 0

    def words(self, _: Names, /) -> str:
        return f"wrap {quoted(self.name)} in {short(self.wrapper)}"


class GroupBegun(Event, frozen=True, kw_only=True):
    """The process joins a group, by `init_process_group`, with this `backend` ("": torch's default, or not known).

    `size` is how many processes there are, 0 where that is not known, 1 where code out of sight may say so; `rank` is the user's
    expression for the number of this one. `beside`: several of them run on one machine, as the script starts them itself, or
    asks the launcher for the process's number among those of its machine. `exchanges` are the calls, in the files that were
    read by then, of functions that send tensors, and where else such a function is named.
    """

    backend: str = ""
    size: int = 0
    rank: str = ""
    beside: bool = False
    exchanges: frozenset[Site] = frozenset()

    def words(self, _: Names, /) -> str:
        how = [f"backend {self.backend}"] * bool(self.backend) + [f"world size {self.size}"] * bool(self.size)
        return f"join a process group{in_brackets(tuple(how))}"


class GpuChosen(Event, frozen=True, kw_only=True):
    """The process chooses its current GPU by calling `function`, or may do so there (not `surely`)."""

    function: str
    surely: bool = True

    def words(self, _: Names, /) -> str:
        return f"{quoted(self.function)} {'sets' if self.surely else 'may set'} the current GPU"


class GradientsSeen(Event, frozen=True, kw_only=True):
    """The gradients with which an optimizer is about to step a module, in one of several processes that have joined a group.

    The module is wrapped for them, or one that was called as a whole. `gradients` holds parameters by name, those of a large
    model in part, each with some numbers of its gradient, at the same places in every process. `loss` is the last loss that
    was gone back from, None where it is no single number. Only the probe writes it.
    """

    module: int
    gradients: tuple[tuple[str, tuple[float, ...]], ...]
    loss: float | None = None

    def words(self, _: Names, /) -> str:
        return f"{len(self.gradients)} gradients are about to be applied"


class Exchanged(Event, frozen=True, kw_only=True):
    """The script itself called `function` (its canonical name), which sends `numbers` numbers between processes.

    In the source it may as well be what prepares such an exchange, of which it is not known how much is sent (0).
    """

    function: str
    numbers: int

    def words(self, _: Names, /) -> str:
        return f"{self.function} exchanges {self.numbers or 'some'} values"


class WriterBuilt(Event, frozen=True, kw_only=True):
    """A writer of logs was made; `shared`: its directory is the same in every process of a distributed run.

    `file` is the directory, where a run shows it.
    """

    name: str
    shared: Tri = None
    file: str = ""

    def words(self, _: Names, /) -> str:
        return f"create the writer {quoted(self.name)}"


class AutocastEntered(Event, frozen=True, kw_only=True):
    """`torch.autocast` begins: what runs on this type of `device` computes in `dtype` (torch's name; "": not known).

    `within` is the module whose forward enters it, 0 outside of any. `asked`: a function out of sight answers whether it is on.
    """

    device: str
    dtype: str
    enabled: Tri
    within: int = 0
    asked: bool = False

    def words(self, _: Names, /) -> str:
        where = " on ".join(part for part in (self.dtype, self.device) if part)
        return f"autocast{' to ' * bool(where)}{where}{', disabled' * (self.enabled is False)}"


class AutocastExited(Event, frozen=True, kw_only=True):
    """The autocast that was entered last is left."""

    def words(self, _: Names, /) -> str:
        return "end of autocast"


class ClockRead(Event, frozen=True, kw_only=True):
    """The wall clock is read."""

    def words(self, _: Names, /) -> str:
        return "read the clock"


class Timed(Event, frozen=True, kw_only=True):
    """Two readings of a clock, the `ClockRead` events `first` and `last`, are subtracted.

    `waits`: something was called between them that may wait for the GPU. `copies`: something was copied to a device, and
    may have waited for what was queued before.
    """

    first: int
    last: int
    waits: bool
    copies: bool = False

    def words(self, _: Names, /) -> str:
        return f"measure elapsed time{', which may include waiting for the GPU' * self.waits}"


class OutdatedUsed(Event, frozen=True, kw_only=True):
    """Something that has a successor in torch was named: a function, a class, an attribute, an argument.

    `api` is its torch name, `name` the user's expression, `instead` what takes its place since version `since` of torch.
    `warns` is the first version that warns when it runs, `gone` the first that does not have it any more (None: there is none).
    `idle`: that version still takes it, and it does nothing. `dropped`: it is an argument to leave out.
    """

    api: str
    name: str
    instead: str
    since: Version
    warns: Version | None = None
    gone: Version | None = None
    idle: bool = False
    dropped: bool = False

    def words(self, _: Names, /) -> str:
        return f"use {quoted(self.name)}, replaced by `{self.instead}` since torch {'.'.join(map(str, self.since))}"
