"""What can happen in a training script: one class per event, each field with its meaning.

References (`module`, `optimizer`, ...) are numbers that stand for one object during one run; names (`name`) are the user's
own spelling of it. An event that names another event does so by the other's `index` in the trace. Fields of type `Tri`
are None where the witness does not know.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from torch_doctor.trace.words import Holding, Kind, Source, Tri

if TYPE_CHECKING:
    from torch_doctor.trace.scope import Guards, LoopKind, Scope
    from torch_doctor.trace.site import Site

Trail = tuple[tuple["Site", str], ...]
NO_EVENTS: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorFact:
    """What is known of a tensor where an event used it.

    `made_at` is where it got its kind (the softmax call for probabilities), `made_by` the torch name of what gave it (e.g.
    `torch.nn.Softmax`), `trail` how it travelled from there. `graph` tells whether an autograd graph hangs on it.
    `forwards` are the `Forward` events whose data went into it (through `detach` and `no_grad` too), `graph_forwards` those
    that it can still send gradients to, `kept` the `Kept` events it contains. `name` is the user's expression.
    """

    kind: Kind = Kind.UNKNOWN
    name: str = ""
    made_at: Site | None = None
    made_by: str = ""
    trail: Trail = ()
    graph: Tri = None
    scalar: Tri = None
    source: Source = Source.UNKNOWN
    forwards: frozenset[int] = NO_EVENTS
    graph_forwards: frozenset[int] = NO_EVENTS
    kept: frozenset[int] = NO_EVENTS


@dataclass(slots=True, kw_only=True, eq=False)
class Event:
    """Something that happened at `site`, within `scope`, behind `guards`; `index` is its place in the trace."""

    site: Site
    scope: Scope
    guards: Guards = frozenset()
    index: int = -1


@dataclass(slots=True, kw_only=True, eq=False)
class Unreadable(Event):
    """The source, or one cell of it, is not valid Python; `reason` is the parser's own word."""

    reason: str


@dataclass(slots=True, kw_only=True, eq=False)
class GaveUp(Event):
    """The witness stopped looking here (`reason`: a budget, recursion, source that it could not read)."""

    reason: str


# --- modules ---


@dataclass(slots=True, kw_only=True, eq=False)
class ModuleBuilt(Event):
    """A module was constructed. `site` is the construction, `class_site` the project's class and `init_site` its `def __init__`.

    `class_name` is `torch.nn.Linear` for torch's own and the bare name for the project's. `sensitive`: it or something in
    it behaves differently in training (dropout, batch norm). `parameters`: it owns parameters that can be trained.
    `base_initialised`: `nn.Module.__init__` ran; `early_member` is the first submodule or parameter that was assigned
    before it did. `init_site` is that of the class that makes the mistake when the class is inherited.
    """

    module: int
    class_name: str
    class_site: Site | None = None
    init_site: Site | None = None
    sensitive: Tri = None
    parameters: Tri = None
    base_initialised: Tri = True
    early_member: Site | None = None


@dataclass(slots=True, kw_only=True, eq=False)
class Registered(Event):
    """`child`, a module or parameter, became part of `owner`: by attribute, container, `add_module`, `setattr`."""

    owner: int
    child: int
    name: str


@dataclass(slots=True, kw_only=True, eq=False)
class Held(Event):
    """A plain container with modules or parameters became the attribute `name` of the module `owner`.

    `site` is the container's assignment (its creation, where a function returned it). `container`: "list", "dict", "tuple"
    or "set". `members` are the modules or parameters it holds when the owner's constructor is done; `parameters` tells
    that they are bare parameters, `trainable` that some member has something to train or a mode to set. `passed_in`: the
    members were not built by the owner but handed to it one by one, as is done to hide them on purpose.
    `registered`: all of them became part of some module another way. `owner_class` is the owner's class name.
    `filled_at` lists where members were put in, when that is not the assignment.
    """

    owner: int
    owner_class: str
    name: str
    container: str
    members: tuple[int, ...]
    parameters: bool
    trainable: Tri
    passed_in: bool
    registered: bool
    member_class: str = ""
    filled_at: tuple[Site, ...] = ()


@dataclass(slots=True, kw_only=True, eq=False)
class ModeSet(Event):
    """`module.train()` (`training` True) or `eval()` (False); None when the argument is not known.

    `whole` is False when the call went to a part of a bigger module (`model.backbone.eval()`).
    """

    module: int
    name: str
    training: Tri
    whole: bool = True


@dataclass(slots=True, kw_only=True, eq=False)
class Moved(Event):
    """`.to(...)`, `.cuda()`, `.cpu()`, ...; `module` is 0 for a tensor; `used` is False when the result is dropped."""

    module: int
    name: str
    device: str
    used: bool = True


# --- data ---


@dataclass(slots=True, kw_only=True, eq=False)
class LoaderBuilt(Event):
    """A data loader was constructed. `shuffle` as given; None when not known."""

    loader: int
    shuffle: Tri = None
    drop_last: Tri = None


@dataclass(slots=True, kw_only=True, eq=False)
class BatchTaken(Event):
    """A loop got its next batch from `loader` (0 when it is not known which)."""

    loader: int
    name: str


# --- loops and calls ---


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
class GradModeEntered(Event):
    """`no_grad`, `inference_mode`, `enable_grad`, `set_grad_enabled(...)` begins; `context` is its torch name."""

    context: str
    enabled: Tri


@dataclass(slots=True, kw_only=True, eq=False)
class GradModeExited(Event):
    """The context is left; `enabled` is what holds from here on."""

    context: str
    enabled: Tri


# --- the update ---


@dataclass(slots=True, kw_only=True, eq=False)
class Forward(Event):
    """A whole module was called (calls inside its `forward` are not events of their own).

    `sensitive` and `training`: whether parts of it care about the mode, and whether any of them is in training mode now.
    `grad`: whether autograd records. `trainable`: it has parameters that require gradients. `inputs` describes the first
    tensor argument, `output` the result.
    """

    module: int
    name: str
    class_name: str
    sensitive: Tri
    training: Tri
    grad: Tri
    trainable: Tri
    inputs: TensorFact
    output: TensorFact


@dataclass(slots=True, kw_only=True, eq=False)
class LossCalled(Event):
    """A loss was computed. `loss` is its torch name, `expects` what its input must be (`Kind.LOGITS` for cross-entropy)."""

    loss: str
    name: str
    expects: Kind
    input: TensorFact
    target: TensorFact
    output: TensorFact


@dataclass(slots=True, kw_only=True, eq=False)
class Backward(Event):
    """Gradients were computed. `modules` are those whose parameters got some; `whole` is False when there may be others.

    `forwards` are the `Forward` events whose data went into the loss, `kept` the `Kept` events it contains. `through` says
    how: `backward`, `autograd.grad` (fills no `.grad`), or the framework that did it. `inputs_only`: gradients went to
    given inputs, not to parameters. `context`: gradients live in a distributed autograd context, not in `.grad`.
    """

    name: str
    through: str
    loss: TensorFact
    modules: frozenset[int]
    whole: bool
    forwards: frozenset[int] = NO_EVENTS
    kept: frozenset[int] = NO_EVENTS
    retain_graph: Tri = False
    inputs_only: bool = False
    context: bool = False


@dataclass(slots=True, kw_only=True, eq=False)
class OptimizerBuilt(Event):
    """An optimizer took parameters: those of `modules`; `whole` is False when there may be others."""

    optimizer: int
    class_name: str
    modules: frozenset[int]
    whole: bool
    name: str = ""


@dataclass(slots=True, kw_only=True, eq=False)
class Stepped(Event):
    """`optimizer.step()`, or an update by hand (`manual`, optimizer 0). `modules` are those whose parameters moved.

    `whole` is False when there may be others. `closure`: the closure it was given ran (and its events precede this one).
    `scaled`: it went through a gradient scaler. `clears`: the same call clears the gradients too (DeepSpeed).
    `manual` updates are reported here too: a `param -= lr * param.grad` under `no_grad`.
    """

    optimizer: int
    name: str
    modules: frozenset[int]
    whole: bool
    manual: bool = False
    closure: bool = False
    scaled: bool = False
    clears: bool = False


@dataclass(slots=True, kw_only=True, eq=False)
class ZeroGrad(Event):
    """Gradients were cleared: by the optimizer, the module, or by hand (`p.grad = None`, `p.grad.zero_()`).

    `target` is the optimizer or module (0 by hand), `modules` those whose gradients are gone, `whole` False when there may
    be others.
    """

    target: int
    name: str
    modules: frozenset[int]
    whole: bool


@dataclass(slots=True, kw_only=True, eq=False)
class Clipped(Event):
    """Gradients were clipped, by `function`."""

    function: str
    modules: frozenset[int]


@dataclass(slots=True, kw_only=True, eq=False)
class Unscaled(Event):
    """`scaler.unscale_(optimizer)`."""

    scaler: int
    optimizer: int


@dataclass(slots=True, kw_only=True, eq=False)
class ScalerBuilt(Event):
    """A gradient scaler was constructed."""

    scaler: int
    enabled: Tri = None


@dataclass(slots=True, kw_only=True, eq=False)
class ScalerUpdated(Event):
    """`scaler.update()`."""

    scaler: int


@dataclass(slots=True, kw_only=True, eq=False)
class SchedulerBuilt(Event):
    """A learning-rate scheduler was constructed on `optimizer`."""

    scheduler: int
    optimizer: int
    class_name: str


@dataclass(slots=True, kw_only=True, eq=False)
class SchedulerStepped(Event):
    """`scheduler.step()`."""

    scheduler: int
    optimizer: int
    name: str


@dataclass(slots=True, kw_only=True, eq=False)
class NotCalled(Event):
    """A method was named as a statement, or a context class was entered, without being called.

    `name` is the expression, `method` the method's name, `of` what it belongs to: "optimizer", "tensor", "module",
    "scheduler", "scaler" or "torch"; `target` the object's reference (0 where there is none).
    """

    name: str
    method: str
    of: str
    target: int = 0


# --- what outlives an iteration ---


@dataclass(slots=True, kw_only=True, eq=False)
class Kept(Event):
    """A value was put where it outlives the statement: a running sum, a container, an attribute.

    `holder` is the user's name for it; `carries` are the `Kept` events whose values the holder already had inside: when one
    of an earlier iteration is among them, the value outlived its iteration. `bounded`: the holder drops old values by
    itself (`deque(maxlen=...)`).
    """

    value: TensorFact
    how: Holding
    holder: str
    carries: frozenset[int] = NO_EVENTS
    bounded: bool = False


@dataclass(slots=True, kw_only=True, eq=False)
class Logged(Event):
    """A value went to a sink that formats or plots it."""

    value: TensorFact
    sink: str


@dataclass(slots=True, kw_only=True, eq=False)
class Saved(Event):
    """Something was written by `torch.save`. `modules` are whole module objects inside it, `what` the argument's text.

    `names` says under which key of a dict each module lies ("" for the object itself).
    """

    what: str
    modules: tuple[int, ...] = ()
    names: tuple[str, ...] = ()


@dataclass(slots=True, kw_only=True, eq=False)
class Loaded(Event):
    """Weights were loaded into `module` (0: only read from the file)."""

    module: int
    name: str


# --- what is out of sight ---


@dataclass(slots=True, kw_only=True, eq=False)
class Handed(Event):
    """Something went out of sight: into a call that could not be followed, or to a caller that nobody can see.

    Whoever got it may have done anything a training loop does: `optimizers` may have been stepped or cleared, `modules`
    may have changed mode, the values in `forwards` and `kept` may have gone backward. `returned`: it left by being returned
    from the function that the witness began with.
    """

    to: str
    optimizers: frozenset[int] = NO_EVENTS
    modules: frozenset[int] = NO_EVENTS
    forwards: frozenset[int] = NO_EVENTS
    kept: frozenset[int] = NO_EVENTS
    returned: bool = False


@dataclass(slots=True, kw_only=True, eq=False)
class Owned(Event):
    """`framework` owns the loop from here: what it does by itself is written as if the script had done it."""

    framework: str
    details: tuple[str, ...] = field(default=())
