"""How a run goes: loops, batches, calls, and whether autograd records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch_doctor.trace.events.event import Event, TensorFact

if TYPE_CHECKING:
    from torch_doctor.trace.scope import LoopKind
    from torch_doctor.trace.site import Site
    from torch_doctor.trace.words import Tri


@dataclass(slots=True, kw_only=True, eq=False)
class BatchTaken(Event):
    """A loop got its next batch from `loader` (0 when it is not known which)."""

    loader: int
    name: str


@dataclass(slots=True, kw_only=True, eq=False)
class LoopEntered(Event):
    """A loop begins; `over` is what it goes through, in the user's words."""

    loop: int
    loop_kind: LoopKind
    over: str


@dataclass(slots=True, kw_only=True, eq=False)
class LoopIterated(Event):
    """A pass of the loop begins; `number` counts from 1. The static witness makes two passes where it cannot count them."""

    loop: int
    number: int


@dataclass(slots=True, kw_only=True, eq=False)
class LoopExited(Event):
    """The loop is over."""

    loop: int


@dataclass(slots=True, kw_only=True, eq=False)
class CallEntered(Event):
    """A project function is entered; `function_site` is its `def`."""

    function: str
    function_site: Site


@dataclass(slots=True, kw_only=True, eq=False)
class CallExited(Event):
    """The function returned."""

    function: str


@dataclass(slots=True, kw_only=True, eq=False)
class AutocastEntered(Event):
    """`torch.autocast` begins: what runs on this type of `device` computes in `dtype` (torch's name; "": not known).

    `within` is the module whose forward enters it, 0 outside of any.
    """

    device: str
    dtype: str
    enabled: Tri
    within: int = 0


@dataclass(slots=True, kw_only=True, eq=False)
class AutocastExited(Event):
    """The autocast that was entered last is left."""


@dataclass(slots=True, kw_only=True, eq=False)
class GradModeEntered(Event):
    """`no_grad`, `inference_mode`, `enable_grad`, `set_grad_enabled(...)` begins; `context` is its torch name."""

    context: str
    enabled: Tri


@dataclass(slots=True, kw_only=True, eq=False)
class GradModeExited(Event):
    """The context is left; `enabled` is what holds from here on."""

    context: str
    enabled: Tri


@dataclass(slots=True, kw_only=True, eq=False)
class ClockRead(Event):
    """The wall clock is read."""


@dataclass(slots=True, kw_only=True, eq=False)
class Timed(Event):
    """Two readings of a clock, the `ClockRead` events `first` and `last`, are subtracted.

    `waits`: something was called between them that may wait for the GPU. `copies`: something was copied to a device, and
    may have waited for what was queued before.
    """

    first: int
    last: int
    waits: bool
    copies: bool = False


@dataclass(slots=True, kw_only=True, eq=False)
class ValueRead(Event):
    """The numbers of a tensor became Python's, in a loop: whoever reads those of a tensor on a GPU waits until they are there.

    `how` is what reads them: the method (`item`, `tolist`, `cpu`), the function (`float`, `print`, ...), or `format`.
    `name` is the user's expression. `on_gpu` is where the tensor is, as a run with a GPU shows it; None where that is not known.
    """

    name: str
    how: str
    value: TensorFact
    on_gpu: Tri = None
