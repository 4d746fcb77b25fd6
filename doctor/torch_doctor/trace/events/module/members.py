"""Modules and what belongs to them: layers, parameters, and what is left out of their registration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace.events.event import Event
from torch_doctor.trace.events.wording import in_brackets, quoted, short

if TYPE_CHECKING:
    from torch_doctor.trace.events.names import Names
    from torch_doctor.trace.site import Site
    from torch_doctor.trace.words import Tri


class ModuleBuilt(Event, frozen=True, kw_only=True):
    """A module was constructed. `site` is the construction, `class_site` the project's class and `init_site` its `def __init__`.

    `class_name` is `torch.nn.Linear` for torch's own and the bare name for the project's. `sensitive`: it or something in
    it behaves differently in training (dropout, batch norm). `parameters`: it owns parameters that can be trained.
    `base_initialised`: `nn.Module.__init__` ran; `early_member` is the first submodule or parameter that was assigned
    before it did. `misspelt` is the name of the method that was `meant` as `__init__` or `forward` and that nobody calls;
    `init_site` is then its `def`, and `init_class` has it: the class that makes the mistake, where another inherits it.
    `calls_super`: that `__init__` calls `super`, which does not lead to `nn.Module.__init__`.
    `recurrent`: a layer in it goes through a sequence step by step (RNN, LSTM, GRU).
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
    misspelt: str = ""
    meant: str = "__init__"
    init_class: str = ""
    calls_super: bool = False

    def introduce(self, names: Names) -> None:
        names.built(self.module, self.class_name)

    def words(self, _: Names, /) -> str:
        traits = []
        if self.sensitive:
            traits.append("mode-sensitive")
        if self.base_initialised is False:
            traits.append("nn.Module.__init__ never ran")
        if self.early_member is not None:
            traits.append(f"a member was set before nn.Module.__init__ ran, on line {self.early_member.row}")
        if self.misspelt:
            traits.append(f"{self.misspelt} never ran")
        return f"create {short(self.class_name)}{in_brackets(traits)}"


class Registered(Event, frozen=True, kw_only=True):
    """`child`, a module or parameter, became part of `owner`: by attribute, container, `add_module`, `setattr`."""

    owner: int
    child: int
    name: str

    def words(self, names: Names, /) -> str:
        return f"register `{self.name}` in {names.things([self.owner])}"


class Unregistered(Event, frozen=True, kw_only=True):
    """A plain container with modules or parameters became the attribute `name` of the module `owner`.

    `site` is the container's assignment (its creation, where a function returned it). `container`: "list", "dict", "tuple"
    or "set". `members` are the modules or parameters it holds when the owner's constructor is done; `parameters` tells
    that they are bare parameters, `trainable` that some member has something to train or a mode to set. `passed_in`: the
    members were not built by the owner but handed to it one by one, or the container wraps a single one that had a name, as
    is done to hide them on purpose.
    `registered`: all of them became part of some module another way, or the owner has parameters of one of them.
    `owner_class` is the owner's class name. `filled_at` lists where members were put in, when that is not the assignment.
    `fits`: torch's own container takes each item as it is, under its key in a dict (None: not known).
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
    filled_at: tuple[Site, ...] = ()
    fits: Tri = None

    def words(self, _: Names, /) -> str:
        what = f"{'parameter' if self.parameters else 'module'}{'s' * (len(self.members) != 1)}"
        fate = "registered elsewhere" if self.registered else "not registered"
        where = f"the Python {self.container} `{self.name}` of {self.owner_class}"
        return f"store {len(self.members)} {what} in {where}: {fate}"


class Repeated(Event, frozen=True, kw_only=True):
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

    def words(self, _: Names, /) -> str:
        often = f"{self.times} times" if self.times else "several times"
        return f"list the same {short(self.class_name)} {quoted(self.name)} {often}"


class LayerRegistered(Event, frozen=True, kw_only=True):
    """The module `owner` has a layer under `name`; `site` is the assignment in its class, `owner_class`.

    `reached`: the layer ran, or its parameters were used. The static witness writes only those that are not: nothing in
    the project takes an attribute of that name. `named`: some method of the owner takes it; `forwards` counts the calls of
    the owner that were seen. `bare`: the layer has no parameters, as an activation or a dropout.
    """

    owner: int
    owner_class: str
    name: str
    class_name: str
    trainable: Tri
    reached: bool
    bare: bool = False
    named: bool = False
    forwards: int = 0
    elements: int = 0

    def words(self, _: Names, /) -> str:
        reached = "is used" if self.reached else "is never used"
        return f"{short(self.class_name)} {quoted(self.name)} of {self.owner_class} {reached}"


class ParameterMoved(Event, frozen=True, kw_only=True):
    """The module `owner` keeps, as its attribute `name`, what a move to a device made of an `nn.Parameter`.

    It is no parameter as soon as the move is real. `elements` counts its numbers (0: not known).
    """

    owner: int
    owner_class: str
    name: str
    elements: int = 0

    def words(self, _: Names, /) -> str:
        return f"store a moved parameter as {quoted(f'self.{self.name}')} of {short(self.owner_class)}"


class PlainTensorUsed(Event, frozen=True, kw_only=True):
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

    def words(self, _: Names, /) -> str:
        return f"use {quoted(f'self.{self.name}')} of {short(self.owner_class)}, a plain tensor, on line {self.used_at.row}"
