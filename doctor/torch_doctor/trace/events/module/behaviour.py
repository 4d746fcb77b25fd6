"""What modules do when they are called, and what their layers give."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace.events.event import Event
from torch_doctor.trace.events.wording import in_brackets, quoted, short

if TYPE_CHECKING:
    from torch_doctor.trace.events.names import Names
    from torch_doctor.trace.site import Site
    from torch_doctor.trace.words import Tri


class ForwardByName(Event, frozen=True, kw_only=True):
    """The `forward` of a module is called directly, by code outside the module.

    It accompanies the `Forward` of a complete module. It is not reported for modules that are compiled, define `__call__`,
    or have a replaced `forward`.
    """

    module: int
    """The module."""
    name: str
    """The name of the module in the script."""
    class_name: str
    """The class of the module."""
    within: int = 0
    """The module whose forward or constructor contains the call; 0 if there is none, or if the calling function created it."""
    skips: str = ""
    """What `__call__` would also run, such as hooks; "" if nothing is known."""
    put_at: Site | None = None
    """Where that was registered."""

    def words(self, _: Names, /) -> str:
        around = " within another module" if self.within else ""
        past = f", bypassing {self.skips}" if self.skips else ""
        return f"call `forward` of {quoted(self.name)} directly{around}{past}"


class BuiltInForward(Event, frozen=True, kw_only=True):
    """A parameter, or a layer with parameters, is created while a module is called, and used there."""

    owner: int
    """The module that is called."""
    owner_class: str
    """The class of that module."""
    class_name: str
    """The class of the layer or parameter."""
    used_at: Site
    """Where it is used."""
    registered: bool = False
    """Whether it becomes part of a module, so that the next call replaces it."""
    elements: int = 0
    """The number of its trainable elements."""
    times: int = 0
    """How often it is created; 0 if unknown."""

    def words(self, _: Names, /) -> str:
        return f"create {short(self.class_name)} in the forward of {short(self.owner_class)}"


class FunctionalDropout(Event, frozen=True, kw_only=True):
    """The forward of a module calls a dropout without passing the mode, so that it is always active."""

    function: str
    """The torch name of the function, which may be an attention with a dropout rate, or of a module that the forward builds."""
    owner: int
    """The module."""
    owner_class: str
    """The class of the module."""
    training: Tri
    """Whether the module is in training mode; None if unknown."""
    dropped: int = 0
    """The number of elements that became zero."""
    elements: int = 0
    """The number of elements; 0 if not counted."""
    off: bool = False
    """Whether the rate is 0, or unresolved code sets it."""
    rate: float = 0.0
    """The dropout rate of an attention. Only the probe knows it."""
    rate_site: Site | None = None
    """Where the dropout rate of an attention is written."""
    built_at: Site | None = None
    """Where the forward builds a dropout module."""
    method: bool = False
    """Whether that is in a method of the module."""

    def words(self, _: Names, /) -> str:
        return (
            f"{short(self.function)} in the forward of {short(self.owner_class)}, in both training and evaluation mode"
        )


class ModeMethod(Event, frozen=True, kw_only=True):
    """A module class overrides `train` or `eval`. `site` is the `def`."""

    class_name: str
    """The class."""
    method: str
    """The method."""
    needs: tuple[str, ...]
    """The required arguments that the call by torch, `train(mode)` or `eval()`, does not pass."""
    takes_mode: bool
    """Whether one of `needs` is named like the mode."""
    calls_base: bool
    """Whether it, or a method that it calls, calls the method of the base class."""
    switches: bool
    """Whether it, or a method that it calls, sets the mode of a module."""
    trains: bool
    """Whether it, or a method that it calls, updates parameters."""
    built_at: Site | None = None
    """Where a module of the class is constructed."""

    def words(self, _: Names, /) -> str:
        traits = [f"needs {', '.join(self.needs)}"] * bool(self.needs) + ["trains"] * self.trains
        return f"{self.class_name} defines its own `{self.method}`{in_brackets(traits)}"


class ConstantWeights(Event, frozen=True, kw_only=True):
    """All weights of a layer are set to the same number. For the probe, `site` is the construction of the layer."""

    module: int
    """The layer."""
    class_name: str
    """The class of the layer."""
    value: float | None
    """The number; None if unknown."""
    identical: bool
    """Whether all units get equal gradients, or none, so that they stay identical. The probe checks it after `steps` steps."""
    built_at: Site | None = None
    """Where the layer is constructed."""
    closed: bool = False
    """Whether all outputs are 0 and a ReLU with gradient 0 at that point follows."""
    units: int = 0
    """The number of units."""
    steps: int = 0
    """The number of optimizer steps in the probe run."""

    def words(self, _: Names, /) -> str:
        value = "the same number" if self.value is None else f"{self.value:g}"
        return f"all weights of {short(self.class_name)} are {value}{in_brackets(['its units stay identical'] * self.identical)}"


class UnitsSeen(Event, frozen=True, kw_only=True):
    """The units of an activation in all training batches.

    A unit is an entry of the last dimension, or a channel of images. `site` is the construction of the activation, or the
    call of a function. Only the probe writes it.
    """

    name: str
    """The name of the activation in the script."""
    operation: str
    """The torch name of the activation, such as `torch.nn.ReLU`."""
    units: int
    """The number of units."""
    dead: int
    """The number of units that were always zero."""
    rows: int
    """The number of samples."""
    batches: int
    """The number of batches."""

    def words(self, _: Names, /) -> str:
        return f"{self.dead} of {self.units} units were zero in all {self.rows} samples"


class OutputConstant(Event, frozen=True, kw_only=True):
    """A module returned the same output for different samples and batches. `site` is its last call. Only the probe writes it."""

    module: int
    """The module."""
    name: str
    """The name of the module in the script."""
    rows: int
    """The number of samples."""
    batches: int
    """The number of batches."""
    updates: int
    """The number of optimizer steps."""
    same_input: bool = False
    """Whether the inputs of all samples were the same, although something else in the batches of the loader differed."""

    def words(self, _: Names, /) -> str:
        return f"`{self.name}` returns the same output for {self.rows} different samples"


class RowsMixed(Event, frozen=True, kw_only=True):
    """The result of a layer, a view or a normalization for one sample depends on other samples of the batch.

    `site` is the place to change: the construction of the layer, the view, or where a tensor is normalized.
    """

    how: str
    """The sort: "layer", "view" or "norm"."""
    name: str
    """The class of the layer, or the expression."""
    loader: int
    """The loader of the batch."""
    shape: tuple[int | str | None, ...]
    """The shape of the input, with the samples in dimension 0, or in dimension 1 for a layer; empty if unknown."""
    used_at: Site | None = None
    """The call of a layer."""
    read_at: Site | None = None
    """Where the script takes the last step of each sample from the output of a layer, as if the samples came first."""
    stacked_at: Site | None = None
    """The construction of the module that repeats the layer; None if there is none."""
    explicit: bool = False
    """Whether the script passes `batch_first`."""
    rows: int = 0
    """The number of samples in the batch. Only the probe counts them."""
    changed: int = 0
    """The number of other samples whose result changed when the probe replaced one sample."""
    answers: int = 0
    """The number of these samples whose output of the complete module changed; 0 if unknown."""

    def words(self, _: Names, /) -> str:
        if self.rows and not self.changed:
            return f"{short(self.name)} processes the samples of a batch independently"
        counted = [f"{self.changed} of {self.rows - 1} others"] * bool(self.rows)
        return f"{short(self.name)} mixes the samples of a batch{in_brackets(counted)}"


class InputTried(Event, frozen=True, kw_only=True):
    """A forward gets a tensor of a batch as a parameter, or assigns a slice of one to a variable; `site` is either of them.

    The static witness reports only inputs that no result depends on, the probe each input that it replaced.
    """

    module: str
    """The class of the module."""
    name: str
    """The parameter, or the variable that the slice is assigned to."""
    used_at: Site | None = None
    """The call of the module."""
    changed: bool | None = None
    """Whether the result changed when the probe replaced the input; None for the static witness."""
    others: int = 0
    """The number of other parameters whose replacement changes the result."""
    optional: bool = False
    """Whether a branch, or a function of the project, may ignore the input."""
    shared: bool = False
    """Whether modules of other classes get the same input at this call."""

    def words(self, _: Names, /) -> str:
        if self.changed is None:
            return f"{quoted(self.module)} does not use {quoted(self.name)}"
        effect = "changes" if self.changed else "does not change"
        return f"changing {quoted(self.name)} {effect} the output of {quoted(self.module)}"
