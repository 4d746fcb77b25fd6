"""What only a run can show: events that the probe alone writes, one class each, beside those of both witnesses."""

from __future__ import annotations

from dataclasses import dataclass

from torch_doctor.trace.events import Event


@dataclass(slots=True, kw_only=True, eq=False)
class ParameterSeen(Event):
    """What became of one trainable parameter; written when the run ends.

    `site` is where the module that owns it was built (the parameter itself, where it has a site of its own). `module` is
    the whole module it belongs to (0: none that ran), `name` its name there, `owner_class` the class of its owner and
    `of_project` whether that class is the project's own or torch's, and not a library's. `elements` counts its numbers.
    `backwards` counts the backward passes that gave gradients to some parameter of `module` after its owner had run,
    `gradients` those of them that left it one, and `nonzero` those that left it one that is not all zero.
    `optimizer` is the one that has it (0: none); `steps` counts that one's steps, `live_steps` those with a learning rate
    that is not 0, a gradient that is not zero and no scaler that skipped them, `visible_steps` those of them that are larger
    than what its values are rounded to. `moved` tells whether its values are other than they were before the first.
    `scheduled`: a scheduler sets its learning rate.
    """

    module: int
    name: str
    owner: int
    owner_class: str
    of_project: bool
    elements: int
    backwards: int
    gradients: int
    nonzero: int
    optimizer: int
    steps: int
    live_steps: int
    visible_steps: int
    moved: bool
    scheduled: bool


@dataclass(slots=True, kw_only=True, eq=False)
class NonFinite(Event):
    """The first value that is not finite; `site` is the line that made it, for one born in backward its forward's.

    `what` is "batch", "activation", "loss", "gradient" or "parameter", `name` what it is called, `value` "nan" or "inf",
    `made_by` the operation where it is known, `step` how many updates came before. `skipped`: a gradient scaler took
    notice and skipped the update.
    """

    what: str
    name: str
    value: str
    made_by: str
    step: int
    skipped: bool = False


@dataclass(slots=True, kw_only=True, eq=False)
class UnitsSeen(Event):
    """The units of one activation (`made_by`, e.g. `torch.nn.ReLU`) over all training batches.

    A unit is an entry of the last dimension (a channel, for images). `dead` of `units` were zero in all of `rows` rows in
    `batches` batches. `site` is the activation's construction, or its call where it is functional.
    """

    name: str
    made_by: str
    units: int
    dead: int
    rows: int
    batches: int


@dataclass(slots=True, kw_only=True, eq=False)
class OutputConstant(Event):
    """A module gave the same output for rows and batches that differ; `site` is its last call."""

    module: int
    name: str
    rows: int
    batches: int
    updates: int


@dataclass(slots=True, kw_only=True, eq=False)
class Reevaluated(Event):
    """One batch of the `Forward` event `forward` was evaluated a second time, on a copy of the module.

    `first` and `second` are the mean of each answer (the losses, where a loss follows), `difference` is the largest
    between two numbers of the output. `because` says what differed: "mode" (parts were in training mode), "dropout"
    (a functional one that ignores the mode), "state" (the same random numbers gave another answer), "noise" (the script
    draws random numbers in the forward); "" where nothing did.
    """

    forward: int
    module: int
    name: str
    first: float
    second: float
    difference: float
    because: str


@dataclass(slots=True, kw_only=True, eq=False)
class MemoryGrew(Event):
    """Graphs stayed alive from pass to pass: `alive` of them after `passes` passes, `size` bytes behind each.

    `site` is the line that keeps them where that is known, else the one that made them; `holder` is what holds them.
    """

    holder: str
    alive: int
    passes: int
    size: int


@dataclass(slots=True, kw_only=True, eq=False)
class RoundTripped(Event):
    """What `Saved` event `saved` wrote was read back into a fresh copy of the module: did it answer as the original?

    `difference` is the largest between two numbers of the outputs; `lost` names parameters and buffers that are other in
    the copy.
    """

    saved: int
    module: int
    name: str
    difference: float
    lost: tuple[str, ...] = ()


@dataclass(slots=True, kw_only=True, eq=False)
class RowsDrawn(Event):
    """A pass over a distributed sampler began: `rows` are the first that this process is to read, `count` all of them."""

    sampler: int
    rows: tuple[int, ...]
    count: int


@dataclass(slots=True, kw_only=True, eq=False)
class GradientsSeen(Event):
    """The gradients with which an optimizer is about to step a module that is wrapped for several processes.

    `gradients` holds parameters by name, those of a large model in part, each with some numbers of its gradient, at the same
    places in every process. `loss` is the last loss that was gone back from, None where it is no single number.
    """

    module: int
    gradients: tuple[tuple[str, tuple[float, ...]], ...]
    loss: float | None = None


@dataclass(slots=True, kw_only=True, eq=False)
class Exchanged(Event):
    """The script itself called `function` (its torch name), which sends `numbers` numbers between processes."""

    function: str
    numbers: int


@dataclass(slots=True, kw_only=True, eq=False)
class DevicesDiffer(Event):
    """A copy of the module `module`, called `name` at `site`, answers otherwise on the GPU than on the CPU.

    `elements` of its numbers differ by more than is allowed, by `largest` at most, where `allowed` is.
    """

    module: int
    name: str
    largest: float
    allowed: float
    elements: int
