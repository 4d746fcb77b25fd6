"""Second networks: what the script treats as a copy of a model and is the model itself, and targets that keep their graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace.events.event import NO_EVENTS, Event
from torch_doctor.trace.events.wording import quoted

if TYPE_CHECKING:
    from torch_doctor.trace.events.names import Names
    from torch_doctor.trace.site import Site
    from torch_doctor.trace.words import Tri


class Renamed(Event, frozen=True, kw_only=True):
    """A variable, an attribute or an item gets a model, or its parameters, that the script has under another name."""

    name: str
    """What gets it."""
    model: str
    """The expression for the model or its parameters."""
    parameters: bool = False
    """Whether it gets parameters in a container, and not a model."""
    several: bool = False
    """Whether it is one of several that a container gets together."""
    treated: str = ""
    """How the script treats it as a copy: "loaded", "averaged", "compared" or "subtracted". Only the static witness knows."""
    treated_at: Site | None = None
    """Where it does."""
    modules: frozenset[int] = NO_EVENTS
    """The owners of the parameters. Only the static witness writes them."""
    shared: Tri = True
    """Whether its parameters are in the same memory as those that an optimizer steps."""
    tensors: int = 0
    """The number of its parameters. Only the probe counts them."""

    def words(self, _: Names, /) -> str:
        if self.shared is False:
            return f"{quoted(self.name)} has parameters of its own"
        use = f", and treat it as a copy (line {self.treated_at.row})" if self.treated_at is not None else ""
        what = f"the parameters of {quoted(self.model)}" if self.parameters else quoted(self.model)
        return f"make {quoted(self.name)} another name of {what}{use}"


class TargetKept(Event, frozen=True, kw_only=True):
    """A backward pass goes through the target of a difference as well as through what is to become like it.

    `site` is the loss or the difference; for the probe, it is the backward pass.
    """

    name: str
    """The expression for the target."""
    sort: str
    """What the target is: "bootstrap", something given plus a part of the output for other inputs; or "teacher"."""
    own: bool
    """Whether the network behind the target is the one that learns."""
    backward_at: Site
    """The backward pass."""
    learners: frozenset[int] = NO_EVENTS
    """The owners of parameters in the network that learns. Only the static witness writes them."""
    modules: frozenset[int] = NO_EVENTS
    """The owners of parameters that the target is computed with. Only the static witness writes them."""
    network: str = ""
    """The expression for the network behind the target."""
    operand: int | None = None
    """Which argument of the loss, or operand of the difference, the target is."""
    kept: Tri = True
    """Whether the target has a graph; None if it is not clear which side of the loss is the target."""
    reached: int = 0
    """The number of parameters that gradients reach through the target. Only the probe counts them."""

    def words(self, _: Names, /) -> str:
        if self.kept is None:
            return "compare outputs in a loss, all of which have a graph"
        if not self.kept:
            return "the targets of the loss have no graph"
        return f"the target {quoted(self.name)} ({self.sort}) keeps its graph"
