"""Gradients: the passes forward and backward, clearing and clipping, and where a graph ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace.events.event import NO_EVENTS, Event
from torch_doctor.trace.events.wording import autograd, in_brackets, quoted, short

if TYPE_CHECKING:
    from torch_doctor.trace.events.event import TensorFact
    from torch_doctor.trace.events.names import Names
    from torch_doctor.trace.site import Site
    from torch_doctor.trace.words import Tri


class Forward(Event, frozen=True, kw_only=True):
    """A whole module was called (calls inside its `forward` are not events of their own).

    `sensitive` and `training`: whether parts of it care about the mode, and whether any of them is in training mode now.
    `grad`: whether autograd records. `trainable`: it has parameters that require gradients. `may_be_frozen`: where that
    is not known, the script itself said of all of them that they do not. `inputs` describes the first
    tensor argument, but its `leaf` tells whether any argument was computed from a leaf; `output` is the result.
    `given` are the `Forward` events whose graph came in with any argument, as far as the
    static witness knows. `used` is False when the result is dropped: the call was made for what it does on
    the way. `autocast` is the number of the `AutocastEntered` that holds, None outside of any.
    `wrapped`: the call went through `DataParallel`, `DistributedDataParallel` or FSDP. `unrecorded`: where autograd is off, the
    module and all in it that owns parameters, where the static witness sees all of it. `named`: nothing is known of the module
    but that it is called as an attribute of another, so that it may as well be a method, and no forward at all. `unseen`: its
    forward calls code out of sight, which may be a layer of any sort. `again`: it got the same input before, at the same place
    and with the same weights, or gets it several times, as what is drawn at random does.
    """

    module: int
    name: str
    class_name: str
    sensitive: Tri
    training: Tri
    grad: Tri
    trainable: Tri
    may_be_frozen: bool = False
    inputs: TensorFact
    output: TensorFact
    used: bool = True
    given: frozenset[int] = NO_EVENTS
    wrapped: bool = False
    autocast: int | None = None
    unrecorded: frozenset[int] = NO_EVENTS
    named: bool = False
    unseen: bool = False
    again: bool = False

    def introduce(self, names: Names) -> None:
        names.spelled(self.module, self.name, self.scope)

    def words(self, _: Names, /) -> str:
        mode = {True: "training mode", False: "evaluation mode", None: "mode unknown"}[self.training]
        traits = [*[mode] * (self.sensitive is not False), autograd(self.grad)]
        what = f"{quoted(self.name)} ({short(self.class_name)})"
        return f"forward {what}: {', '.join(traits)} → {self.output.words()}"


class PartUnrecorded(Event, frozen=True, kw_only=True):
    """A part of a module that is trained was called in its forward with autograd off, and never otherwise before the backward pass.

    `name` is how it is called there, `modules` what owns parameters in it, all with the weights that they were built with.
    The probe writes it for what an optimizer has and that never ran otherwise; there `calls` counts these calls, and
    `steps` the steps of the optimizer, none of which found a gradient.
    """

    name: str
    modules: frozenset[int]
    calls: int = 0
    steps: int = 0

    def words(self, _: Names, /) -> str:
        return f"call {quoted(self.name)} with autograd off, although it is part of a trained model"


class Backward(Event, frozen=True, kw_only=True):
    """Gradients were computed. `modules` are those whose parameters got some; `whole` is False when there may be others.

    `forwards` are the `Forward` events whose data went into the loss, `retained` the `Retained` events it contains. `through` says
    how: `backward`, `autograd.grad` (fills no `.grad`), or the framework that did it. `inputs_only`: gradients went to
    given inputs, not to parameters. `context`: gradients live in a distributed autograd context, not in `.grad`.
    `weighted`: the gradient of each number of the loss was given, as a loss of several numbers needs. `scaled`: the loss
    went through a gradient scaler. `divided`: it was divided or multiplied after it was computed, by anything but a scaler.
    `retained_at` is the argument `retain_graph=True`, where it was given and nothing differentiates the gradients again.
    `autocast` is the number of the `AutocastEntered` that holds, None outside of any. `direct` are those of `modules` that the
    loss was computed of by themselves, as a parameter that a matrix is multiplied with, and not by a forward of a module.
    """

    name: str
    through: str
    loss: TensorFact
    modules: frozenset[int]
    whole: bool
    forwards: frozenset[int] = NO_EVENTS
    retained: frozenset[int] = NO_EVENTS
    retain_graph: Tri = False
    inputs_only: bool = False
    context: bool = False
    weighted: Tri = False
    scaled: Tri = None
    divided: Tri = None
    retained_at: Site | None = None
    autocast: int | None = None
    direct: frozenset[int] = NO_EVENTS

    def words(self, names: Names, /) -> str:
        traits = []
        if self.through != "backward":
            traits.append(f"through {self.through}")
        if self.retain_graph:
            traits.append("retains the graph")
        if self.inputs_only:
            traits.append("gradients of inputs only")
        if self.context:
            traits.append("into a distributed context")
        if self.scaled:
            traits.append("scaled")
        reached = names.things(self.modules, whole=self.whole)
        start = f"backward {quoted(self.name)}" if self.name else "backward"
        return f"{start}: gradients for {reached}{in_brackets(traits)}"


class ZeroGrad(Event, frozen=True, kw_only=True):
    """Gradients were cleared: by the optimizer, the module, or by hand (`p.grad = None`, `p.grad.zero_()`).

    `target` is the optimizer or module (0 by hand), `modules` those whose gradients are gone, `whole` False when there may
    be others.
    """

    target: int
    name: str
    modules: frozenset[int]
    whole: bool

    def words(self, names: Names, /) -> str:
        return f"zero_grad {quoted(self.name)}: clears {names.things(self.modules, whole=self.whole)}"


class GradientsRead(Event, frozen=True, kw_only=True):
    """The `.grad` of something was taken: of parameters of `modules`, or of another tensor, which is no module's.

    `whole` is False when it may be that of others. `asked`: a test only asks whether there is one. What changes or clears
    it takes it first, and is an event of its own at the same place. `hooked`: a hook was registered, which gets the
    gradients of every pass from there on.
    """

    name: str
    modules: frozenset[int]
    whole: bool
    asked: bool = False
    hooked: bool = False

    def words(self, names: Names, /) -> str:
        of = names.things(self.modules, whole=self.whole, nothing="a tensor")
        how = "request" if self.asked else "pass a hook" if self.hooked else "read"
        return f"{how} the gradient {quoted(self.name)} of {of}"


class Clipped(Event, frozen=True, kw_only=True):
    """Gradients of `modules` were clipped, by `function`; `whole` is False when there may be others.

    `name` is the user's text of the call. `managed`: the framework that does it unscales them first where they are scaled.
    `manual`: somebody changed them in place, as in `p.grad.clamp_(-1, 1)` or `p.grad /= n`, which may be for another
    reason; `fills`: by more than scaling or bounding them, so that what was zero may have become a gradient. Computing the
    norm alone (`max_norm=float("inf")`) is no event.
    """

    function: str
    modules: frozenset[int]
    whole: bool = True
    name: str = ""
    managed: bool = False
    manual: bool = False
    fills: bool = False

    def words(self, names: Names, /) -> str:
        if self.manual:
            return f"change the gradients of {names.things(self.modules, whole=self.whole)} in place"
        return f"clip the gradients of {names.things(self.modules, whole=self.whole)} ({short(self.function)})"


class GraphCut(Event, frozen=True, kw_only=True):
    """The graph of `value`, which gradients could go through to a forward, ended here.

    `how` is the last word of what did it: `detach`, `data`, `item`, `numpy`, `float`, `argmax`, `tensor`, `Variable`, ...,
    or the comparison.
    """

    how: str
    value: TensorFact

    def words(self, _: Names, /) -> str:
        return f"{quoted(self.how)} ends the graph of {self.value.words()}"


class ParameterCut(Event, frozen=True, kw_only=True):
    """A parameter was taken without its graph: by `how`, as for `GraphCut`. `text` is how it was spelled.

    `attribute` is its name after that of its module's class. `alone`: a loss that went backward was
    computed from what was taken, and nothing in sight uses the parameter otherwise. `backward` is where that loss went backward.
    """

    how: str
    parameter: int
    text: str
    attribute: str = ""
    alone: bool = False
    backward: Site | None = None

    def words(self, _: Names, /) -> str:
        return f"{quoted(self.how)} takes a parameter without its graph{in_brackets(['its only use in the loss'] * self.alone)}"


class LeafMade(Event, frozen=True, kw_only=True):
    """What was computed, and has lost its graph, requires gradients from here on: `value`, now the tensor `leaf`."""

    leaf: int
    value: TensorFact

    def words(self, _: Names, /) -> str:
        return f"require gradients of {self.value.words()}, which starts a new graph"


class GradFlagSet(Event, frozen=True, kw_only=True):
    """An attribute that speaks of gradients was set where torch does not read it: on a tensor, or on a whole module.

    `name` is the target as the user wrote it, `attribute` its last word, `of` what it belongs to: "tensor" (also one that
    is a parameter) or "module". `value` is what was assigned, None where that is not a known truth value. `records` tells
    whether gradients are recorded for the tensor.
    """

    name: str
    attribute: str
    of: str
    value: Tri = None
    records: Tri = None

    def words(self, _: Names, /) -> str:
        return f"set {quoted(self.name)} of a {self.of}, which torch ignores"


class NotCalled(Event, frozen=True, kw_only=True):
    """A method was named as a statement, or a context class was entered, without being called.

    `name` is the expression, `method` the method's name, `of` what it belongs to: "optimizer", "tensor", "module",
    "scheduler", "scaler" or "torch"; `target` the object's reference (0 where there is none).
    """

    name: str
    method: str
    of: str
    target: int = 0

    def words(self, _: Names, /) -> str:
        return f"refer to {quoted(self.name)} without calling it"


class HandWrittenBackward(Event, frozen=True, kw_only=True):
    """The class `class_name`, an `autograd.Function` of the project that is applied, has a `backward`; `site` is its `def`.

    `gradients` says how many it returns, and `inputs` how many `forward` has, both 0 where that is not known. `argument` is the
    first input of which what `backward` gives, `given`, is not what `forward` has, its `slope`; for the probe both are sums
    over all numbers, in one direction. `compared` are the inputs whose gradients were compared. `kept` is the attribute of
    the context that keeps the very result of `forward`, at `kept_at`; `stayed` counts the calls that a run found to stay in
    memory for that. `because` tells why a run could compare nothing.
    """

    class_name: str
    inputs: int = 0
    gradients: int = 0
    argument: str = ""
    slope: float = 0.0
    given: float = 0.0
    compared: tuple[str, ...] = ()
    stayed: int = 0
    kept: str = ""
    kept_at: Site | None = None
    because: str = ""

    def words(self, _: Names, /) -> str:
        traits = []
        if self.gradients != self.inputs:
            traits.append(f"{self.gradients} gradients for {self.inputs} inputs")
        if self.argument:
            traits.append(f"{quoted(self.argument)} gets {self.given:.4g} instead of {self.slope:.4g}")
        if self.kept:
            traits.append(f"stores its result as {quoted(self.kept)}")
        traits += [self.because] * bool(self.because)
        return f"the backward of {self.class_name}{in_brackets(traits)}"
