"""The update: forward, loss, backward, step and clearing, with scalers and schedulers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch_doctor.trace.events.event import NO_EVENTS, Event, TensorFact

if TYPE_CHECKING:
    from torch_doctor.trace.site import Site
    from torch_doctor.trace.words import Kind, Tri


@dataclass(slots=True, kw_only=True, eq=False)
class Forward(Event):
    """A whole module was called (calls inside its `forward` are not events of their own).

    `sensitive` and `training`: whether parts of it care about the mode, and whether any of them is in training mode now.
    `grad`: whether autograd records. `trainable`: it has parameters that require gradients. `inputs` describes the first
    tensor argument, `output` the result. `given` are the `Forward` events whose graph came in with any argument, as far as the
    static witness knows. `used` is False when the result is dropped: the call was made for what it does on
    the way. `autocast` is the number of the `AutocastEntered` that holds, None outside of any.
    `wrapped`: the call went through `DataParallel`, `DistributedDataParallel` or FSDP.
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
    used: bool = True
    given: frozenset[int] = NO_EVENTS
    wrapped: bool = False
    autocast: int | None = None


@dataclass(slots=True, kw_only=True, eq=False)
class ForwardByName(Event):
    """`name.forward(...)`: a module's `forward` was called past its `__call__`, by somebody else than the module itself.

    It says so of parts within another module's `forward` too, and beside the `Forward` of a whole module. Not said of modules
    that are not meant to be called: whose class defines `__call__` anew, whose `forward` was replaced, which are compiled.
    """

    module: int
    name: str
    class_name: str


@dataclass(slots=True, kw_only=True, eq=False)
class LossCalled(Event):
    """A loss was computed. `loss` is its torch name, `expects` what its input must be (`Kind.LOGITS` for cross-entropy).

    `raised` is what torch said, where it refused. `reduction` is how the losses of single elements were summed up: "mean",
    "sum", "batchmean" or "none" ("": not known).
    """

    loss: str
    name: str
    expects: Kind
    input: TensorFact
    target: TensorFact
    output: TensorFact
    raised: str = ""
    reduction: str = ""


@dataclass(slots=True, kw_only=True, eq=False)
class Normalised(Event):
    """A softmax, log-softmax or softmin (`function`, its torch name) over a dimension of this `size` (0: not known).

    `site` is where its result got its kind: the call, or the construction of the layer in a container. `dim_given` is
    False where the script leaves the choice of the dimension to torch.
    """

    function: str
    input: TensorFact
    size: int
    dim_given: Tri = None


@dataclass(slots=True, kw_only=True, eq=False)
class LogTaken(Event):
    """A logarithm (`function`, its torch name) was taken of values of a known kind."""

    function: str
    input: TensorFact


@dataclass(slots=True, kw_only=True, eq=False)
class Broadcast(Event):
    """A difference of two tensors of different shapes, which were stretched to match; a loss made of it went backward.

    `name` is the user's expression.
    """

    name: str
    left: TensorFact
    right: TensorFact


@dataclass(slots=True, kw_only=True, eq=False)
class Backward(Event):
    """Gradients were computed. `modules` are those whose parameters got some; `whole` is False when there may be others.

    `forwards` are the `Forward` events whose data went into the loss, `kept` the `Kept` events it contains. `through` says
    how: `backward`, `autograd.grad` (fills no `.grad`), or the framework that did it. `inputs_only`: gradients went to
    given inputs, not to parameters. `context`: gradients live in a distributed autograd context, not in `.grad`.
    `weighted`: the gradient of each number of the loss was given, as a loss of several numbers needs. `scaled`: the loss
    went through a gradient scaler. `divided`: it was divided or multiplied after it was computed, by anything but a scaler.
    `retained_at` is the argument `retain_graph=True`, where it was given and nothing differentiates the gradients again.
    `autocast` is the number of the `AutocastEntered` that holds, None outside of any.
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
    weighted: Tri = False
    scaled: Tri = None
    divided: Tri = None
    retained_at: Site | None = None
    autocast: int | None = None


@dataclass(slots=True, kw_only=True, eq=False)
class OptimizerBuilt(Event):
    """An optimizer took parameters: those of `modules`; `whole` is False when there may be others.

    `remembers`: it keeps something from step to step, as momentum; plain SGD does not.
    """

    optimizer: int
    class_name: str
    modules: frozenset[int]
    whole: bool
    name: str = ""
    remembers: Tri = None


@dataclass(slots=True, kw_only=True, eq=False)
class OptimizerRestored(Event):
    """An optimizer was given the state of another, or of a checkpoint."""

    optimizer: int


@dataclass(slots=True, kw_only=True, eq=False)
class Stepped(Event):
    """`optimizer.step()`, or an update by hand (`manual`, optimizer 0). `modules` are those whose parameters moved.

    `whole` is False when there may be others. `closure`: the closure it was given ran (and its events precede this one).
    `scaled`: it went through a gradient scaler: `scaler`, 0 where it is not known. `clears`: the same call clears the
    gradients too (DeepSpeed). `manual` updates are reported here too: a `param -= lr * param.grad` under `no_grad`.
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
    """Gradients of `modules` were clipped, by `function`; `whole` is False when there may be others.

    `name` is the user's text of the call. `managed`: the framework that does it unscales them first where they are scaled.
    `manual`: somebody changed them in place, as in `p.grad.clamp_(-1, 1)` or `p.grad /= n`, which may be for another
    reason. Computing the norm alone (`max_norm=float("inf")`) is no event.
    """

    function: str
    modules: frozenset[int]
    whole: bool = True
    name: str = ""
    managed: bool = False
    manual: bool = False


@dataclass(slots=True, kw_only=True, eq=False)
class Unscaled(Event):
    """`scaler.unscale_(optimizer)`; `optimizer` is 0 where it is not known."""

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
    """`scheduler.step()`. `told`: it was given an argument, as an epoch's number or a metric, that says where to go."""

    scheduler: int
    optimizer: int
    name: str
    told: bool = False


@dataclass(slots=True, kw_only=True, eq=False)
class GraphCut(Event):
    """The graph of `value`, which gradients could go through to a forward, ended here.

    `how` is the last word of what did it: `detach`, `data`, `item`, `numpy`, `float`, `argmax`, `tensor`, `Variable`, ...,
    or the comparison.
    """

    how: str
    value: TensorFact


@dataclass(slots=True, kw_only=True, eq=False)
class LeafMade(Event):
    """What was computed, and has lost its graph, requires gradients from here on: `value`, now the tensor `leaf`."""

    leaf: int
    value: TensorFact


@dataclass(slots=True, kw_only=True, eq=False)
class GradFlagSet(Event):
    """An attribute that speaks of gradients was set where torch does not read it: on a tensor, or on a whole module.

    `name` is the target as the user wrote it, `attribute` its last word, `of` what it belongs to: "tensor" (also one that
    is a parameter) or "module". `value` is what was assigned, None where that is not a known truth value.
    """

    name: str
    attribute: str
    of: str
    value: Tri = None


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
