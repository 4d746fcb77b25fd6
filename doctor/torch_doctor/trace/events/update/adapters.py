"""What is frozen: under adapters, which are few weights beside others, and in the hands of an optimizer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace.events.event import NO_EVENTS, Event
from torch_doctor.trace.events.wording import in_brackets, short

if TYPE_CHECKING:
    from torch_doctor.trace.events.names import Names
    from torch_doctor.trace.site import Site
    from torch_doctor.trace.words import Tri


class AdapterTrained(Event, frozen=True, kw_only=True):
    """A loss goes backward through an adapter: a few weights that are added to existing ones.

    `site` is the construction of the adapter.
    """

    adapter: int
    """The adapter."""
    class_name: str
    """The class of the adapter."""
    own: frozenset[int]
    """The owners of the adapter's own weights."""
    base: frozenset[int]
    """The owners of the weights that it adapts."""
    own_trains: Tri
    """Whether all of its own weights require gradients (True) or none (False)."""
    base_trains: Tri
    """Whether all of the adapted weights require gradients (True) or none (False)."""
    since: Site | None = None
    """Where the script last determined that for all of them at once."""
    off: str = ""
    """Why the adapter has no effect: "disabled", "merged", or "skipped" by its own forward; "" if it has."""
    off_at: Site | None = None
    """Where it was disabled or merged."""
    takers: frozenset[int] = NO_EVENTS
    """The optimizers that certainly have all weights of both."""
    handed: bool = False
    """Whether a trainer, which is not analyzed, gets the model."""
    own_tensors: int = 0
    """The number of its own weight tensors. Only the probe counts them."""
    own_moved: int = 0
    """The number of its own weight tensors that changed."""
    base_tensors: int = 0
    """The number of adapted weight tensors. Only the probe counts them."""
    base_moved: int = 0
    """The number of adapted weight tensors that changed."""
    steps: int = 0
    """The number of optimizer steps."""

    def words(self, _: Names, /) -> str:
        fate = {True: "trains", False: "is frozen", None: "may train"}
        switched = [self.off] * bool(self.off)
        return (
            f"adapter {short(self.class_name)} {fate[self.own_trains]}, its base {fate[self.base_trains]}"
            f"{in_brackets(switched)}"
        )


class FrozenStepped(Event, frozen=True, kw_only=True):
    """An optimizer is about to step parameters that are and always were frozen, or that no longer are.

    Only the static witness writes it.
    """

    optimizer: int
    """The optimizer."""
    frozen: bool
    """Whether all of them are frozen."""
    since: Site | None = None
    """Where the script last froze all of them at once; None if it froze them in parts."""
    plain: bool = False
    """Whether they are copies, without a graph, of tensors that require gradients."""

    def words(self, _: Names, /) -> str:
        if self.plain:
            return "step an optimizer with only tensors that require no gradients"
        return (
            "step an optimizer with only frozen parameters"
            if self.frozen
            else "step parameters that were frozen before"
        )


class FrozenNormsRan(Event, frozen=True, kw_only=True):
    """A module is called with a batch norm that is frozen, together with the layers next to it, and in training mode."""

    forward: int
    """The `Forward` event of the call."""
    module: int
    """The module."""
    parts: frozenset[int] = NO_EVENTS
    """The owners of everything that was frozen together with the batch norm."""
    since: Site | None = None
    """Where it was frozen."""
    thawed: bool = False
    """Whether some of it requires, or may require, gradients again later."""
    norms: int = 0
    """The number of frozen batch norms. Only the probe counts them."""
    changed: int = 0
    """The number of frozen batch norms whose statistics changed in this call."""

    def words(self, _: Names, /) -> str:
        if self.thawed:
            return "frozen batch norm may be trained again"
        return "frozen batch norm updates its running statistics"


class FrozenMoved(Event, frozen=True, kw_only=True):
    """An optimizer steps frozen parameters that still have a gradient."""

    optimizer: int
    """The optimizer."""
    zeroed: bool = False
    """Whether their gradients are zero, so that only momentum changes them."""
    since: Site | None = None
    """Where the script froze them."""
    thawed: bool = False
    """Whether some of them require, or may require, gradients again later."""
    tensors: int = 0
    """The number of frozen parameters with a gradient. Only the probe counts them."""
    moved: int = 0
    """The number of frozen parameters that changed."""
    steps: int = 0
    """The number of optimizer steps."""

    def words(self, _: Names, /) -> str:
        return (
            "frozen parameters may be trained again"
            if self.thawed
            else "step frozen parameters that have an old gradient"
        )
