"""Optimizers and gradient scalers, and what became of parameters and values under them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace.events.event import NO_EVENTS, Event
from torch_doctor.trace.events.wording import in_brackets, quoted, short

if TYPE_CHECKING:
    from torch_doctor.trace.events.names import Names
    from torch_doctor.trace.site import Site
    from torch_doctor.trace.words import Tri


class OptimizerBuilt(Event, frozen=True, kw_only=True):
    """An optimizer gets parameters: it is constructed, or a group is added."""

    optimizer: int
    """The optimizer."""
    class_name: str
    """The class of the optimizer."""
    modules: frozenset[int]
    """The owners of the parameters."""
    whole: bool
    """False if it may also have others."""
    name: str = ""
    """The name that it is assigned to."""
    remembers: Tri = None
    """Whether it has state from step to step, such as momentum."""
    lent: frozenset[int] = NO_EVENTS
    """Those of the modules that it does not have, and was meant to. Only the static witness writes them."""

    def introduce(self, names: Names) -> None:
        names.built(self.optimizer, self.class_name)

    def words(self, names: Names, /) -> str:
        return f"create optimizer {short(self.class_name)} over {names.things(self.modules, whole=self.whole)}"


class WeightsDrawn(Event, frozen=True, kw_only=True):
    """Gradients are computed for weights that still have the values of their construction, which is `site`."""

    module: int
    """The layer or parameter."""
    class_name: str
    """The class of the layer."""
    beside: frozenset[int] = NO_EVENTS
    """What owns parameters in the outermost module that it belongs to."""

    def words(self, _: Names, /) -> str:
        return f"train {short(self.class_name)} from its initial weights"


class WeightsGiven(Event, frozen=True, kw_only=True):
    """Weights are set other than by a step: loaded, copied, averaged or initialized.

    The probe writes it only for modules that no optimizer steps, when one steps or the module is called next.
    """

    modules: frozenset[int]
    """The owners of the parameters."""
    whole: bool = True
    """False if others may also be set."""
    of: frozenset[int] = NO_EVENTS
    """The modules that the values are copied from; empty if unknown."""
    anew: bool = False
    """Whether they are set to random numbers or a constant, as a constructor does."""

    def words(self, names: Names, /) -> str:
        return f"{'initialize' if self.anew else 'set'} weights of {names.things(self.modules, whole=self.whole)}"


class OptimizerRestored(Event, frozen=True, kw_only=True):
    """The state of another optimizer, or of a checkpoint, is loaded into an optimizer."""

    optimizer: int
    """The optimizer."""

    def words(self, names: Names, /) -> str:
        return f"load a state into {names.things([self.optimizer], nothing='an optimizer')}"


class Stepped(Event, frozen=True, kw_only=True):
    """`optimizer.step()` is called, or parameters are updated manually: `param -= lr * param.grad` under `no_grad`."""

    optimizer: int
    """The optimizer; 0 for a manual update."""
    name: str
    """The name of the optimizer in the script."""
    modules: frozenset[int]
    """The owners of the parameters that are updated."""
    whole: bool
    """False if others may also be updated."""
    manual: bool = False
    """Whether it is a manual update."""
    closure: bool = False
    """Whether it ran a closure, whose events precede this one."""
    scaled: bool = False
    """Whether a gradient scaler calls it."""
    scaler: int = 0
    """The gradient scaler; 0 if unknown."""
    clears: bool = False
    """Whether the same call clears the gradients (DeepSpeed)."""
    leaves: frozenset[int] = NO_EVENTS
    """Those of `modules` that are tensors outside of all modules, which no module clears."""
    several: bool = False
    """Whether the optimizer represents several, of which it is unknown which one this is."""

    def words(self, names: Names, /) -> str:
        flags = {
            "manually": self.manual,
            "with a closure": self.closure,
            "scaled": self.scaled,
            "clears the gradients": self.clears,
        }
        traits = [word for word, holds in flags.items() if holds]
        return f"step {quoted(self.name)}: updates {names.things(self.modules, whole=self.whole)}{in_brackets(traits)}"


class ScalerBuilt(Event, frozen=True, kw_only=True):
    """A gradient scaler is constructed."""

    scaler: int
    """The gradient scaler."""
    enabled: Tri = None
    """Whether it is enabled."""
    unseen: bool = False
    """Whether unresolved code determines if it is enabled."""

    def words(self, _: Names, /) -> str:
        return f"create a gradient scaler{' (disabled)' if self.enabled is False else ''}"


class ScalerUpdated(Event, frozen=True, kw_only=True):
    """`scaler.update()` is called."""

    scaler: int
    """The gradient scaler."""

    def words(self, _: Names, /) -> str:
        return "update the gradient scaler"


class Unscaled(Event, frozen=True, kw_only=True):
    """`scaler.unscale_(optimizer)` is called."""

    scaler: int
    """The gradient scaler."""
    optimizer: int
    """The optimizer; 0 if unknown."""

    def words(self, names: Names, /) -> str:
        return f"unscale the gradients of {names.things([self.optimizer])}"


class ParameterSeen(Event, frozen=True, kw_only=True):
    """The history of a trainable parameter, at the end of the run or when another object replaces it.

    `site` is the construction of its owner, or of the parameter itself. Only the probe writes it.
    """

    module: int
    """The complete module that it belongs to; 0 if none ran."""
    name: str
    """Its name in that module."""
    owner: int
    """The module that it is registered in."""
    owner_class: str
    """The class of the owner."""
    of_project: bool
    """Whether the class of the owner belongs to the project or torch, and not to a library."""
    elements: int
    """The number of its elements."""
    units: int
    """The number of units (features, channels) of its layer."""
    backwards: int
    """The number of backward passes with gradients for `module` in which its owner ran, or could not run."""
    gradients: int
    """The number of these passes after which it had a gradient."""
    nonzero: int
    """The number of these passes after which its gradient was not zero."""
    optimizer: int
    """The optimizer that has it; 0 if none has."""
    steps: int
    """The number of steps of that optimizer."""
    live_steps: int
    """The number of these steps with a nonzero learning rate and gradient that no scaler skipped."""
    visible_steps: int
    """The number of `live_steps` that exceed the rounding of its values."""
    moved: bool | None
    """Whether its values ever changed; None if they were not compared."""
    scheduled: bool
    """Whether a scheduler sets its learning rate."""
    group: int
    """The number of its parameter group."""
    still: str
    """Why it did not change: "rate" (the learning rate stays 0), "waits" (it is 0 so far), "frozen", or ""."""
    frozen_at: Site | None = None
    """Where the script last froze it."""
    frozen_late: bool = False
    """Whether the optimizer had it by then."""
    joins: bool = False
    """Whether it may be part of the loss in a later pass."""
    fresh: bool = False
    """Whether it gets gradients, has its initial values, and no line may pass it to an optimizer later."""

    def words(self, _: Names, /) -> str:
        fate = "" if self.moved is None else ", updated" if self.moved else ", never updated"
        owned = "" if self.optimizer else ", in no optimizer"
        return f"parameter `{self.name}`: {self.nonzero} of {self.backwards} backward passes gave it a gradient{fate}{owned}"


class FrozenRefused(Event, frozen=True, kw_only=True):
    """Torch rejects a backward pass because all parameters of the optimizer are frozen. Only the probe writes it."""

    optimizer: int
    """The optimizer."""
    tensors: int
    """The number of its parameters."""
    elements: int
    """The number of their elements."""
    since: Site | None = None
    """Where the script last froze one of them."""
    late: bool = False
    """Whether the optimizer had it by then."""

    def words(self, _: Names, /) -> str:
        return f"the backward pass is refused: all {self.tensors} parameters of the optimizer are frozen"


class NonFinite(Event, frozen=True, kw_only=True):
    """The first value that is not finite.

    `site` is the line that created it; for a gradient, the line of the forward. Only the probe writes it.
    """

    what: str
    """What it is: "batch", "activation", "loss", "gradient" or "parameter"."""
    name: str
    """The name of the value."""
    value: str
    """What the value is: "nan" or "inf"."""
    operation: str
    """The operation that created it; "" if unknown."""
    step: int
    """The number of earlier optimizer steps."""
    skipped: bool = False
    """Whether a gradient scaler detected it and skipped the step."""

    def words(self, _: Names, /) -> str:
        return f"first non-finite value: {self.value} in the {self.what} `{self.name}`"
