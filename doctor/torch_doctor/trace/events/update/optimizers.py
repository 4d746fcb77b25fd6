"""Optimizers, gradient scalers and schedulers, and what became of parameters and values under them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from torch_doctor.trace.events.event import NO_EVENTS, Event
from torch_doctor.trace.events.wording import in_brackets, quoted, short

if TYPE_CHECKING:
    from torch_doctor.trace.events.names import Names
    from torch_doctor.trace.site import Site
    from torch_doctor.trace.words import Tri


class OptimizerBuilt(Event, frozen=True, kw_only=True):
    """An optimizer took parameters: those of `modules`; `whole` is False when there may be others.

    `remembers`: it keeps something from step to step, as momentum; plain SGD does not.
    """

    optimizer: int
    class_name: str
    modules: frozenset[int]
    whole: bool
    name: str = ""
    remembers: Tri = None

    def introduce(self, names: Names) -> None:
        names.built(self.optimizer, self.class_name)

    def words(self, names: Names, /) -> str:
        return f"create optimizer {short(self.class_name)} over {names.things(self.modules, whole=self.whole)}"


class WeightsDrawn(Event, frozen=True, kw_only=True):
    """Gradients go to the weights that a layer or parameter was built with, at `site`, and that nobody gave it others before."""

    module: int
    class_name: str

    def words(self, _: Names, /) -> str:
        return f"train {short(self.class_name)} from its initial weights"


class WeightsGiven(Event, frozen=True, kw_only=True):
    """Parameters of `modules` got other numbers than those of a step: they were loaded, copied, averaged.

    `anew`: they were drawn at random or set to a constant, as a constructor does. `whole` is False when there may be others.
    `of` are the modules that they were copied from (none: not known).
    """

    modules: frozenset[int]
    whole: bool = True
    of: frozenset[int] = NO_EVENTS
    anew: bool = False

    def words(self, names: Names, /) -> str:
        return f"{'initialize' if self.anew else 'set'} weights of {names.things(self.modules, whole=self.whole)}"


class OptimizerRestored(Event, frozen=True, kw_only=True):
    """An optimizer was given the state of another, or of a checkpoint."""

    optimizer: int

    def words(self, names: Names, /) -> str:
        return f"load a state into {names.things([self.optimizer], nothing='an optimizer')}"


class Stepped(Event, frozen=True, kw_only=True):
    """`optimizer.step()`, or an update by hand (`manual`, optimizer 0). `modules` are those whose parameters moved.

    `whole` is False when there may be others. `closure`: the closure it was given ran (and its events precede this one).
    `scaled`: it went through a gradient scaler: `scaler`, 0 where it is not known. `clears`: the same call clears the
    gradients too (DeepSpeed). `manual` updates are reported here too: a `param -= lr * param.grad` under `no_grad`. `leaves`
    are those of `modules` that are tensors which no module has, so that no module clears them. `several`: the optimizer
    stands for several, of which nobody knows which one this is.
    """

    optimizer: int
    name: str
    modules: frozenset[int]
    whole: bool
    manual: bool = False
    closure: bool = False
    scaled: bool = False
    scaler: int = 0
    clears: bool = False
    leaves: frozenset[int] = NO_EVENTS
    several: bool = False

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
    """A gradient scaler was constructed; `unseen`: what switches it is out of sight."""

    scaler: int
    enabled: Tri = None
    unseen: bool = False

    def words(self, _: Names, /) -> str:
        return f"create a gradient scaler{' (disabled)' if self.enabled is False else ''}"


class ScalerUpdated(Event, frozen=True, kw_only=True):
    """`scaler.update()`."""

    scaler: int

    def words(self, _: Names, /) -> str:
        return "update the gradient scaler"


class Unscaled(Event, frozen=True, kw_only=True):
    """`scaler.unscale_(optimizer)`; `optimizer` is 0 where it is not known."""

    scaler: int
    optimizer: int

    def words(self, names: Names, /) -> str:
        return f"unscale the gradients of {names.things([self.optimizer])}"


class Count(Struct, frozen=True, kw_only=True):
    """A number of passes or steps.

    `number` is None where it is not known, `text` the user's expression. Counts of the same `quantity` are equal, whatever it
    is ("": not known). `batches` are the loaders whose number of batches it is a multiple of.
    """

    number: int | None = None
    text: str = ""
    quantity: str = ""
    batches: frozenset[int] = NO_EVENTS

    def equals(self, other: Count) -> bool:
        """Whether both are surely the same number."""
        known = self.number is not None and self.number == other.number
        return known or (bool(self.quantity) and self.quantity == other.quantity)

    def words(self) -> str:
        """The count in words."""
        return self.text or ("an unknown number" if self.number is None else f"{self.number:,}")


class SchedulerBuilt(Event, frozen=True, kw_only=True):
    """A learning-rate scheduler was constructed on `optimizer`; `resumes`: it was told at which epoch it begins.

    `told` has the numbers that it was given which may change from one pass of a loop to the next.
    """

    scheduler: int
    optimizer: int
    class_name: str
    resumes: bool = False
    told: str = ""

    def introduce(self, names: Names) -> None:
        names.built(self.scheduler, self.class_name)

    def words(self, names: Names, /) -> str:
        return f"create scheduler {short(self.class_name)} on {names.things([self.optimizer])}"


class SchedulerStepped(Event, frozen=True, kw_only=True):
    """`scheduler.step()`. `explicit`: it was given an argument, as an epoch's number or a metric, that says where to go.

    `metric` is the number that it was given, where the run saw one.
    """

    scheduler: int
    optimizer: int
    name: str
    explicit: bool = False
    metric: float | None = None

    def words(self, _: Names, /) -> str:
        return f"step scheduler {quoted(self.name)}{' (with an argument)' if self.explicit else ''}"


class ScheduleCounted(Event, frozen=True, kw_only=True):
    """The schedule of `scheduler` is so many steps long.

    They are the steps after which it is over (`T_max`, `total_steps`, the last milestone), or after which it falls again
    (`step_size`). `falls` is what the learning rate is multiplied with then, None where the schedule is smooth.
    """

    scheduler: int
    length: Count
    falls: float | None = None

    def words(self, _: Names, /) -> str:
        return f"the schedule is {self.length.words()} steps long"


class LoopCounted(Event, frozen=True, kw_only=True):
    """A loop counts its passes: `range(epochs)` in its header, which `site` is a part of, makes so many `passes`."""

    passes: Count

    def words(self, _: Names, /) -> str:
        return f"count to {self.passes.words()}"


class ParameterSeen(Event, frozen=True, kw_only=True):
    """What became of one trainable parameter; written when the run ends, unless another object took its place.

    `site` is where the module that owns it was built (the parameter itself, where it has a site of its own). `module`
    is the whole module it belongs to (0: none that ran), `name` its name there, `owner_class` the class of its owner
    and `of_project` whether that class is the project's own or torch's, and not a library's. `elements` counts its
    numbers, `units` its rows: the units (features, channels) that its layer has. `backwards` counts the backward
    passes that gave gradients to some parameter of `module` after its owner had run, or where no line can run it,
    `gradients` those of them that left it one, and `nonzero` those that left it one that is not all zero. `optimizer`
    is the one that has it (0: none); `steps` counts that one's steps, `live_steps` those with a learning rate that is
    not 0, a gradient that is not zero and no scaler that skipped them, `visible_steps` those of them that are larger
    than what its values are rounded to. `moved` tells whether its values were ever other than before the first, None
    where they were not compared: no optimizer has it, or it is too large.
    `scheduled`: a scheduler sets its learning rate. `group` is the number of its parameter group. `still` says why it
    did not move: "rate" where its rate is 0 and neither a schedule nor the script raises it, "waits" where it is 0 so
    far, "frozen" where nothing lets it want gradients, else "". `frozen_at` is where the script said last that it wants
    none, and `frozen_late` tells that an optimizer had it then. `joins`: it may be part of the loss in a later pass.
    `fresh`: it gets gradients, has the values that its layer was built with, and no line may give it to an optimizer later.
    Only the probe writes it.
    """

    module: int
    name: str
    owner: int
    owner_class: str
    of_project: bool
    elements: int
    units: int
    backwards: int
    gradients: int
    nonzero: int
    optimizer: int
    steps: int
    live_steps: int
    visible_steps: int
    moved: bool | None
    scheduled: bool
    group: int
    still: str
    frozen_at: Site | None = None
    frozen_late: bool = False
    joins: bool = False
    fresh: bool = False

    def words(self, _: Names, /) -> str:
        fate = "" if self.moved is None else ", updated" if self.moved else ", never updated"
        owned = "" if self.optimizer else ", in no optimizer"
        return f"parameter `{self.name}`: {self.nonzero} of {self.backwards} backward passes gave it a gradient{fate}{owned}"


class FrozenRefused(Event, frozen=True, kw_only=True):
    """A loss has no graph, so torch refused its backward pass, and all parameters of `optimizer` are frozen.

    `tensors` counts these parameters and `elements` their numbers. `since` is where the script said last that one of them wants
    no gradients, and `late` tells that the optimizer had it then. Only the probe writes it.
    """

    optimizer: int
    tensors: int
    elements: int
    since: Site | None = None
    late: bool = False

    def words(self, _: Names, /) -> str:
        return f"the backward pass is refused: all {self.tensors} parameters of the optimizer are frozen"


class NonFinite(Event, frozen=True, kw_only=True):
    """The first value that is not finite; `site` is the line that made it, for one born in backward its forward's.

    `what` is "batch", "activation", "loss", "gradient" or "parameter", `name` what it is called, `value` "nan" or "inf",
    `operation` what made it where that is known, `step` how many updates came before. `skipped`: a gradient scaler took
    notice and skipped the update. Only the probe writes it.
    """

    what: str
    name: str
    value: str
    operation: str
    step: int
    skipped: bool = False

    def words(self, _: Names, /) -> str:
        return f"first non-finite value: {self.value} in the {self.what} `{self.name}`"
