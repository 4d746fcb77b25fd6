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
    """A loop begins; `over` is what it goes through, in the user's words.

    `length` is how many items that has, by the script's own defaults: None where nobody knows, infinite where it has no end.
    `whole` is the loader that it has exactly one pass for each batch of; 0 where there is none, or nobody knows.
    """

    loop: int
    loop_kind: LoopKind
    over: str
    length: float | None = None
    whole: int = 0

    def words(self, _: Names, /) -> str:
        batches = ", batch by batch" if self.loop_kind is LoopKind.BATCHES else ""
        return f"loop over {quoted(self.over)}{batches}"


class LoopIterated(Event, frozen=True, kw_only=True):
    """A pass of the loop begins; `number` counts from 1. The static witness makes two passes where it cannot count them."""

    loop: int
    number: int

    def words(self, _: Names, /) -> str:
        return f"iteration {self.number}"


class LoopExited(Event, frozen=True, kw_only=True):
    """The loop is over."""

    loop: int


class CallEntered(Event, frozen=True, kw_only=True):
    """A project function is entered; `function_site` is its `def`."""

    function: str
    function_site: Site

    def words(self, _: Names, /) -> str:
        return f"call {self.function}"


class CallExited(Event, frozen=True, kw_only=True):
    """The function returned."""

    function: str


class GradModeEntered(Event, frozen=True, kw_only=True):
    """`no_grad`, `inference_mode`, `enable_grad`, `set_grad_enabled(...)` begins; `context` is its torch name."""

    context: str
    enabled: Tri

    def words(self, _: Names, /) -> str:
        return f"{short(self.context)}: {autograd(self.enabled)}"


class GradModeExited(Event, frozen=True, kw_only=True):
    """The context is left; `enabled` is what holds from here on."""

    context: str
    enabled: Tri

    def words(self, _: Names, /) -> str:
        return f"{autograd(self.enabled)} again"
