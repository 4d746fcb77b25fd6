"""Gradients: the passes forward and backward, clearing and clipping."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace.events.event import NO_EVENTS, Event
from torch_doctor.trace.events.wording import autograd, in_brackets, quoted, short

if TYPE_CHECKING:
    from torch_doctor.trace.events.event import TensorFact
    from torch_doctor.trace.events.names import Names
    from torch_doctor.trace.scope import Formula
    from torch_doctor.trace.site import Site
    from torch_doctor.trace.words import Tri


class Forward(Event, frozen=True, kw_only=True):
    """A complete module is called. Calls within its `forward` are not reported."""

    module: int
    """The module."""
    name: str
    """The name of the module in the script."""
    class_name: str
    """The class of the module."""
    sensitive: Tri
    """Whether a part of it depends on the mode."""
    training: Tri
    """Whether a part of it is in training mode."""
    grad: Tri
    """Whether autograd records."""
    trainable: Tri
    """Whether it has parameters that require gradients."""
    may_be_frozen: bool = False
    """Whether the script froze all parameters, if `trainable` is unknown."""
    inputs: TensorFact
    """The first tensor argument, except that `leaf` holds if any argument derives from a leaf."""
    output: TensorFact
    """The result."""
    used: bool = True
    """Whether the script uses the result."""
    given: frozenset[int] = NO_EVENTS
    """The `Forward` events whose graphs the arguments contain, as far as the static witness knows."""
    wrapped: bool = False
    """Whether the call goes through `DataParallel`, `DistributedDataParallel` or FSDP."""
    autocast: int | None = None
    """The `AutocastEntered` event in effect; None if there is none."""
    unrecorded: frozenset[int] = NO_EVENTS
    """Without autograd, the module and all parts of it with parameters, if the static witness resolves all of it."""
    named: bool = False
    """Whether it is only known as a called attribute of another module, so that it may be a method."""
    unseen: bool = False
    """Whether its forward calls unresolved code, which may be any layer."""
    again: bool = False
    """Whether it gets the same input several times at the same place with the same weights, as for random sampling."""

    def introduce(self, names: Names) -> None:
        names.spelled(self.module, self.name, self.scope)

    def words(self, _: Names, /) -> str:
        mode = {True: "training mode", False: "evaluation mode", None: "mode unknown"}[self.training]
        traits = [*[mode] * (self.sensitive is not False), autograd(self.grad)]
        what = f"{quoted(self.name)} ({short(self.class_name)})"
        return f"forward {what}: {', '.join(traits)} → {self.output.words()}"


class PartUnrecorded(Event, frozen=True, kw_only=True):
    """Before a backward pass, a part of a trained module ran only with autograd disabled."""

    name: str
    """The name of the part in the forward of the module."""
    modules: frozenset[int]
    """The owners of parameters in it, all with their initial weights."""
    calls: int = 0
    """The number of these calls. Only the probe counts them."""
    steps: int = 0
    """The number of optimizer steps, none of which had a gradient for it. Only the probe counts them."""

    def words(self, _: Names, /) -> str:
        return f"call {quoted(self.name)} with autograd off, although it is part of a trained model"


class Backward(Event, frozen=True, kw_only=True):
    """Gradients are computed."""

    name: str
    """The expression for the loss."""
    through: str
    """How: "backward", "autograd.grad" (which fills no `.grad`), "assigned", or the framework that computes them."""
    loss: TensorFact
    """The loss."""
    modules: frozenset[int]
    """The owners of the parameters that get gradients."""
    as_is: bool = False
    """Whether a framework that computes them surely does not divide the loss."""
    whole: bool
    """False if other parameters may also get gradients."""
    forwards: frozenset[int] = NO_EVENTS
    """The `Forward` events whose data the loss contains."""
    retained: frozenset[int] = NO_EVENTS
    """The `Retained` events whose values the loss contains."""
    retain_graph: Tri = False
    """Whether the graph is retained."""
    inputs_only: bool = False
    """Whether only given inputs, and no parameters, get gradients."""
    context: bool = False
    """Whether the gradients are stored in a distributed autograd context and not in `.grad`."""
    weighted: Tri = False
    """Whether the gradient of each element of the loss is passed, as a loss with several elements requires."""
    scaled: Tri = None
    """Whether a gradient scaler scaled the loss."""
    divided: Tri = None
    """Whether the loss was divided or multiplied after its computation, other than by a scaler."""
    retained_at: Site | None = None
    """The argument `retain_graph=True`, unless the gradients are differentiated again."""
    autocast: int | None = None
    """The `AutocastEntered` event in effect; None if there is none."""
    direct: frozenset[int] = NO_EVENTS
    """Those of `modules` whose parameters the loss uses directly, and not by a forward."""
    perhaps: frozenset[int] = NO_EVENTS
    """Those of `modules` that may get none: they may be cut off, or frozen. Only the static witness does not know."""

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


class LossDivided(Event, frozen=True, kw_only=True):
    """The loss of the next `Backward` event was divided by a number that may differ from iteration to iteration."""

    divided_at: Site | None = None
    """The division. Only the static witness knows it."""
    count: Formula | None = None
    """The number as a formula, if loops count it. Only the static witness knows it."""
    number: float | None = None
    """The number. Only the probe knows it."""

    def words(self, _: Names, /) -> str:
        return (
            "divide the next loss by a running count"
            if self.number is None
            else f"divide the next loss by {self.number:g}"
        )


class ZeroGrad(Event, frozen=True, kw_only=True):
    """Gradients are cleared: by an optimizer, a module, or manually (`p.grad = None`, `p.grad.zero_()`)."""

    target: int
    """The optimizer or module; 0 if it is done manually."""
    name: str
    """The name of the target in the script."""
    modules: frozenset[int]
    """The owners of the parameters whose gradients are cleared."""
    whole: bool
    """False if others may also be cleared."""

    def words(self, names: Names, /) -> str:
        return f"zero_grad {quoted(self.name)}: clears {names.things(self.modules, whole=self.whole)}"


class GradientsRead(Event, frozen=True, kw_only=True):
    """The `.grad` of a tensor is read. Code that changes or clears it also reads it, and has another event at the same place."""

    name: str
    """The expression."""
    modules: frozenset[int]
    """The owners of the parameters; empty for other tensors."""
    whole: bool
    """False if others may also be read."""
    asked: bool = False
    """Whether the script only tests if there is a gradient."""
    hooked: bool = False
    """Whether a hook is registered, which reads the gradients of every pass from here on."""

    def words(self, names: Names, /) -> str:
        of = names.things(self.modules, whole=self.whole, nothing="a tensor")
        how = "request" if self.asked else "pass a hook" if self.hooked else "read"
        return f"{how} the gradient {quoted(self.name)} of {of}"


class Clipped(Event, frozen=True, kw_only=True):
    """Gradients are clipped or changed in place. Computing only the norm (`max_norm=float("inf")`) is not reported."""

    function: str
    """The function that clips them."""
    modules: frozenset[int]
    """The owners of the parameters."""
    whole: bool = True
    """False if others may also be clipped."""
    name: str = ""
    """The source text of the call."""
    managed: bool = False
    """Whether a framework clips them, after unscaling them if necessary."""
    manual: bool = False
    """Whether they are changed in place (`p.grad.clamp_(-1, 1)`, `p.grad /= n`), which may have another reason."""
    fills: bool = False
    """Whether a gradient of zero may become nonzero."""
    alone: bool = False
    """Whether the norm is that of one parameter among several, as in a loop over them."""

    def words(self, names: Names, /) -> str:
        if self.manual:
            return f"change the gradients of {names.things(self.modules, whole=self.whole)} in place"
        return f"clip the gradients of {names.things(self.modules, whole=self.whole)} ({short(self.function)})"


class NotCalled(Event, frozen=True, kw_only=True):
    """A method is a statement by itself, or a context class is entered, without a call."""

    name: str
    """The expression."""
    method: str
    """The method."""
    of: str
    """What the method belongs to: "optimizer", "tensor", "module", "scheduler", "scaler" or "torch"."""
    target: int = 0
    """The object; 0 if there is none."""

    def words(self, _: Names, /) -> str:
        return f"refer to {quoted(self.name)} without calling it"


class HandWrittenBackward(Event, frozen=True, kw_only=True):
    """An `autograd.Function` of the project is applied. `site` is the `def` of its `backward`."""

    class_name: str
    """The class."""
    inputs: int = 0
    """The number of inputs of `forward`; 0 if unknown."""
    gradients: int = 0
    """The number of gradients that `backward` returns; 0 if unknown."""
    argument: str = ""
    """The first input with a wrong gradient; "" if there is none."""
    slope: float = 0.0
    """The correct gradient of that input. For the probe, the derivative in one direction."""
    given: float = 0.0
    """The gradient that `backward` returns. For the probe, the derivative in the same direction."""
    compared: tuple[str, ...] = ()
    """The inputs whose gradients were compared."""
    stayed: int = 0
    """The number of calls whose memory was never freed, because of `kept`. Only the probe counts them."""
    kept: str = ""
    """The attribute of the context that stores the result of `forward` itself."""
    kept_at: Site | None = None
    """Where it is stored."""
    because: str = ""
    """Why the probe could not compare the gradients."""

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


class ResultLost(Event, frozen=True, kw_only=True):
    """A statement computed a tensor from another one, which stays as it was, and dropped the result."""

    name: str
    """The user's expression for the tensor that the result was computed from."""
    call: str
    """The user's expression for the result."""
    bound: bool = False
    """Whether everything that uses the tensor would use the result if it were assigned to `name`."""
    method: bool = False
    """Whether the result is that of a method of the tensor, and of nothing else."""
    calls: int = 0
    """How many results the probe compared with the tensor that they were computed from."""
    differed: int = 0
    """How many of them were different from it."""
    difference: str = ""
    """In what the first of these was different."""
    target: str = ""
    """The variable that gets the result, and that nothing reads; "" if no variable gets it."""
    alone: bool = False
    """Whether the statement belongs to no function."""
    read_at: Site | None = None
    """Where the tensor is used instead of the variable."""

    def words(self, _: Names, /) -> str:
        return f"compute {quoted(self.call)}; the result is discarded and {quoted(self.name)} is not changed"
