"""How a run goes: through loops and calls, and whether autograd records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace.events.event import Event
from torch_doctor.trace.events.wording import autograd, quoted, short
from torch_doctor.trace.scope import LoopKind

if TYPE_CHECKING:
    from torch_doctor.trace.events.names import Names
    from torch_doctor.trace.site import Site
    from torch_doctor.trace.words import Tri


class LoopEntered(Event, frozen=True, kw_only=True):
    """A loop starts."""

    loop: int
    """The loop."""
    loop_kind: LoopKind
    """What the loop iterates over, such as epochs or batches."""
    over: str
    """The expression that it iterates over."""
    length: float | None = None
    """The number of iterations, with the defaults of the script; None if unknown, infinite if it never ends."""
    whole: int = 0
    """The loader for whose batches it has exactly one iteration each; 0 if there is none or it is unknown."""
    before: int = 0
    """The number of this loop in an earlier iteration of an outer loop; the static witness executes one iteration now.

    0 if it executes all of them now.
    """
    validates: bool = False
    """Whether a trainer of a library validates in it while it trains: its loaders are meant for held-out samples."""
    counts_updates: bool = False
    """Whether a trainer of a library steps schedulers with each update in it, and may end it after a number of them."""
    turn: int = 0
    """The number by which formulas of tests name its iterations. Only the static witness writes it."""

    def words(self, _: Names, /) -> str:
        batches = ", batch by batch" if self.loop_kind is LoopKind.BATCHES else ""
        return f"loop over {quoted(self.over)}{batches}"


class CounterChanged(Event, frozen=True, kw_only=True):
    """A number that the script counts in a loop is changed. Only the static witness writes it."""

    counter: int
    """The counter."""
    by: int | None = None
    """What is added; None if the counter is set."""
    value: int | None = None
    """The number that it is set to, or that it had before something is added; None if unknown."""

    def words(self, _: Names, /) -> str:
        if self.by is not None:
            return f"count on by {self.by}"
        return "set a counter" if self.value is None else f"set a counter to {self.value}"


class LoopIterated(Event, frozen=True, kw_only=True):
    """An iteration of a loop starts. The static witness executes two iterations if it does not know how many there are."""

    loop: int
    """The loop."""
    number: int
    """The number of the iteration, from 1."""

    def words(self, _: Names, /) -> str:
        return f"iteration {self.number}"


class LoopExited(Event, frozen=True, kw_only=True):
    """A loop ends."""

    loop: int
    """The loop."""


class CallEntered(Event, frozen=True, kw_only=True):
    """A function of the project is called."""

    function: str
    """The qualified name of the function."""
    function_site: Site
    """The `def` of the function."""

    def words(self, _: Names, /) -> str:
        return f"call {self.function}"


class CallExited(Event, frozen=True, kw_only=True):
    """A function of the project returns."""

    function: str
    """The qualified name of the function."""


class GradModeEntered(Event, frozen=True, kw_only=True):
    """A context that switches autograd is entered: `no_grad`, `inference_mode`, `enable_grad` or `set_grad_enabled`."""

    context: str
    """The torch name of the context."""
    enabled: Tri
    """Whether autograd records from here on."""

    def words(self, _: Names, /) -> str:
        return f"{short(self.context)}: {autograd(self.enabled)}"


class GradModeExited(Event, frozen=True, kw_only=True):
    """A context that switches autograd is exited."""

    context: str
    """The torch name of the context."""
    enabled: Tri
    """Whether autograd records from here on."""

    def words(self, _: Names, /) -> str:
        return f"{autograd(self.enabled)} again"
