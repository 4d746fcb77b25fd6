"""What happens to modules: they are built, put together, switched and moved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch_doctor.trace.events.event import Event

if TYPE_CHECKING:
    from torch_doctor.trace.site import Site
    from torch_doctor.trace.words import Tri


@dataclass(slots=True, kw_only=True, eq=False)
class ModuleBuilt(Event):
    """A module was constructed. `site` is the construction, `class_site` the project's class and `init_site` its `def __init__`.

    `class_name` is `torch.nn.Linear` for torch's own and the bare name for the project's. `sensitive`: it or something in
    it behaves differently in training (dropout, batch norm). `parameters`: it owns parameters that can be trained.
    `base_initialised`: `nn.Module.__init__` ran; `early_member` is the first submodule or parameter that was assigned
    before it did. `init_site` is that of the class that makes the mistake when the class is inherited. `recurrent`: a layer
    in it goes through a sequence step by step (RNN, LSTM, GRU).
    """

    module: int
    class_name: str
    class_site: Site | None = None
    init_site: Site | None = None
    sensitive: Tri = None
    parameters: Tri = None
    recurrent: bool = False
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
    members were not built by the owner but handed to it one by one, or the container wraps a single one that had a name, as
    is done to hide them on purpose.
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
class Repeated(Event):
    """A list holds one module several times: `[layer] * n`, `[layer for _ in range(n)]`; `site` is the expression.

    `name` is the element as it is spelled there, `times` how often it is in the list (0: not known), `elements` how many
    numbers its parameters have (0: not known), `built_at` where it was built. `registered_at`: where the list became layers
    of a module; None where it is only gone through. `chosen`: the expression is an arm of a branch that has another one.
    """

    module: int
    class_name: str
    name: str
    times: int
    trainable: Tri
    built_at: Site | None = None
    registered_at: Site | None = None
    chosen: bool = False
    elements: int = 0


@dataclass(slots=True, kw_only=True, eq=False)
class LayerHeld(Event):
    """The module `owner` has a layer under `name`; `site` is the assignment in its class, `owner_class`.

    `reached`: the layer ran, or its parameters were used. The static witness writes only those that are not: nothing in
    the project takes an attribute of that name. `named`: some method of the owner takes it; `forwards` counts the calls of
    the owner that were seen.
    """

    owner: int
    owner_class: str
    name: str
    class_name: str
    trainable: Tri
    reached: bool
    named: bool = False
    forwards: int = 0
    elements: int = 0


@dataclass(slots=True, kw_only=True, eq=False)
class ConstantWeights(Event):
    """All weights of a layer were set to one number, `value` (None: not known which).

    `site` is the initialisation, for the probe the layer's construction, which is `built_at`. `identical`: its units get
    the same gradients and stay the same, since what follows it is constant too; for the probe, they were after `steps`
    updates.
    """

    module: int
    class_name: str
    value: float | None
    identical: bool
    built_at: Site | None = None
    units: int = 0
    steps: int = 0


@dataclass(slots=True, kw_only=True, eq=False)
class ModeMethod(Event):
    """A module's class, `class_name`, defines `train` or `eval` itself; `site` is the `def`.

    torch calls `train(mode)` and `eval()`. `needs` are the arguments that such a call leaves out and that have no default;
    `takes_mode` tells that one of them is the mode by its name. `calls_base`: it calls the method of its base; `switches`:
    it sets the mode of something, `trains`: it updates parameters, all with the methods of its own that it calls.
    """

    class_name: str
    method: str
    needs: tuple[str, ...]
    takes_mode: bool
    calls_base: bool
    switches: bool
    trains: bool
    built_at: Site | None = None


@dataclass(slots=True, kw_only=True, eq=False)
class BuiltInForward(Event):
    """A layer with something to train, or a parameter, was made while the module `owner` was called, and used there.

    `site` is the construction, `used_at` the use. `kept`: it became part of a module, and another one comes with the next
    call. `elements` counts its trainable numbers, `times` how often it was made (0: not known).
    """

    owner: int
    owner_class: str
    class_name: str
    used_at: Site
    kept: bool = False
    elements: int = 0
    times: int = 0


@dataclass(slots=True, kw_only=True, eq=False)
class FunctionalDropout(Event):
    """A forward of the module `owner` called the dropout `function` without telling it the mode: it is always on.

    `training` is the module's mode then (None: not known). `dropped` counts the numbers that it made zero, of `elements`
    (0: not counted).
    """

    function: str
    owner: int
    owner_class: str
    training: Tri
    dropped: int = 0
    elements: int = 0


@dataclass(slots=True, kw_only=True, eq=False)
class ParameterMoved(Event):
    """The module `owner` keeps, as its attribute `name`, what a move to a device made of an `nn.Parameter`.

    It is no parameter as soon as the move is real. `elements` counts its numbers (0: not known).
    """

    owner: int
    owner_class: str
    name: str
    elements: int = 0


@dataclass(slots=True, kw_only=True, eq=False)
class PlainTensorUsed(Event):
    """A tensor that the module `owner` keeps as its plain attribute `name` was computed with in a forward, or returned.

    `site` is the attribute's assignment in the constructor, `used_at` the use. The tensor has dimensions, was put on no device
    by the constructor, and nothing else assigned it. `trained`: it gathers gradients. `elements` counts its numbers (0: not
    known).
    """

    owner: int
    owner_class: str
    name: str
    used_at: Site
    trained: bool = False
    elements: int = 0


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
    """`.to(...)`, `.cuda()`, `.cpu()`, ...; `module` is 0 for a tensor; `used` is False when the result is dropped.

    `device` is the type of the device it goes to, `dtype` the dtype it gets, "" where it gets none or that is not known.
    """

    module: int
    name: str
    device: str
    used: bool = True
    dtype: str = ""


@dataclass(slots=True, kw_only=True, eq=False)
class Wrapped(Event):
    """A module was wrapped for training in several processes or on several devices, by `wrapper` (its torch name)."""

    module: int
    name: str
    wrapper: str
