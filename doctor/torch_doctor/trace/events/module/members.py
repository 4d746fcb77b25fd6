"""Modules and what belongs to them: layers, parameters, and what is left out of their registration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace.events.event import NO_EVENTS, Event
from torch_doctor.trace.events.wording import in_brackets, quoted, short

if TYPE_CHECKING:
    from torch_doctor.trace.events.names import Names
    from torch_doctor.trace.site import Site
    from torch_doctor.trace.words import Tri


class ModuleBuilt(Event, frozen=True, kw_only=True):
    """A module is constructed."""

    module: int
    """The module."""
    class_name: str
    """The torch name of a torch class, the bare name of a project class."""
    class_site: Site | None = None
    """The `class` statement of a project class."""
    init_site: Site | None = None
    """The `def __init__` of the class, or the `def` of `misspelt`."""
    sensitive: Tri = None
    """Whether it, or a part of it, depends on the mode, such as dropout and batch norm."""
    parameters: Tri = None
    """Whether it has trainable parameters."""
    recurrent: bool = False
    """Whether a layer in it processes sequences step by step (RNN, LSTM, GRU)."""
    base_initialised: Tri = True
    """Whether `nn.Module.__init__` ran."""
    early_member: Site | None = None
    """The first submodule or parameter that is assigned before `nn.Module.__init__` runs."""
    misspelt: str = ""
    """The method that is meant as `__init__` or `forward` and never called; "" if there is none."""
    meant: str = "__init__"
    """The method that `misspelt` is meant as."""
    init_class: str = ""
    """The class that defines `misspelt`, if another one inherits it."""
    calls_super: bool = False
    """Whether `__init__` calls `super`, but does not reach `nn.Module.__init__`."""
    inside: bool = False
    """Whether the constructor of another module constructs it. Only the static witness knows it."""
    holds: frozenset[int] = NO_EVENTS
    """The owners of parameters in a list of modules that it is. Only the static witness writes them."""

    def introduce(self, names: Names) -> None:
        names.built(self.module, self.class_name)
        for part in (*self.holds, *[self.module] * self.inside):
            names.part(part)

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
    """A module or parameter becomes part of a module."""

    owner: int
    """The module that gets it."""
    child: int
    """The module or parameter."""
    name: str
    """The name under which it is registered."""

    def introduce(self, names: Names) -> None:
        names.part(self.child)

    def words(self, names: Names, /) -> str:
        return f"register `{self.name}` in {names.things([self.owner])}"


class Unregistered(Event, frozen=True, kw_only=True):
    """A Python container with modules or parameters is assigned to an attribute of a module.

    `site` is the assignment, or the creation of a container that a function returns.
    """

    owner: int
    """The module."""
    owner_class: str
    """The class of the module."""
    name: str
    """The attribute."""
    container: str
    """The sort: "list", "dict", "tuple" or "set"."""
    members: tuple[int, ...]
    """The modules or parameters in it at the end of the constructor."""
    parameters: bool
    """Whether the members are parameters."""
    trainable: Tri
    """Whether a member has parameters, or depends on the mode."""
    passed_in: bool
    """Whether the members are passed in one by one, or it wraps a single named one, as is done to hide it on purpose."""
    registered: bool
    """Whether all members are registered elsewhere, or the owner has parameters of one of them."""
    filled_at: tuple[Site, ...] = ()
    """Where members are added, if not at the assignment."""
    fits: Tri = None
    """Whether the container of torch accepts each item under its key; None if unknown."""

    def words(self, _: Names, /) -> str:
        what = f"{'parameter' if self.parameters else 'module'}{'s' * (len(self.members) != 1)}"
        fate = "registered elsewhere" if self.registered else "not registered"
        where = f"the Python {self.container} `{self.name}` of {self.owner_class}"
        return f"store {len(self.members)} {what} in {where}: {fate}"


class Repeated(Event, frozen=True, kw_only=True):
    """A list contains the same module several times: `[layer] * n`, `[layer for _ in range(n)]`. `site` is the expression."""

    module: int
    """The module."""
    class_name: str
    """The class of the module."""
    name: str
    """The expression for the module."""
    times: int
    """How often the list contains it; 0 if unknown."""
    trainable: Tri
    """Whether it has trainable parameters."""
    built_at: Site | None = None
    """Where it is constructed."""
    registered_at: Site | None = None
    """Where the list becomes layers of a module; None if it is only iterated over."""
    chosen: bool = False
    """Whether the expression is one of two branches."""
    elements: int = 0
    """The number of elements of its parameters; 0 if unknown."""

    def words(self, _: Names, /) -> str:
        often = f"{self.times} times" if self.times else "several times"
        return f"list the same {short(self.class_name)} {quoted(self.name)} {often}"


class LayerRegistered(Event, frozen=True, kw_only=True):
    """A layer is assigned to an attribute of a module. The static witness reports only layers that are never used."""

    owner: int
    """The module."""
    owner_class: str
    """The class of the module."""
    name: str
    """The attribute."""
    class_name: str
    """The class of the layer."""
    trainable: Tri
    """Whether the layer has trainable parameters."""
    reached: bool
    """Whether the layer ran, or its parameters were used."""
    bare: bool = False
    """Whether the layer has no parameters, such as an activation."""
    named: bool = False
    """Whether a method of the module reads the attribute."""
    forwards: int = 0
    """The number of calls of the module."""
    elements: int = 0
    """The number of elements of the layer's parameters."""

    def words(self, _: Names, /) -> str:
        reached = "is used" if self.reached else "is never used"
        return f"{short(self.class_name)} {quoted(self.name)} of {self.owner_class} {reached}"


class ParameterMoved(Event, frozen=True, kw_only=True):
    """The result of moving an `nn.Parameter` to a device is stored in a module. It is not a parameter if the move copies it."""

    owner: int
    """The module."""
    owner_class: str
    """The class of the module."""
    name: str
    """The attribute."""
    elements: int = 0
    """The number of elements; 0 if unknown."""

    def words(self, _: Names, /) -> str:
        return f"store a moved parameter as {quoted(f'self.{self.name}')} of {short(self.owner_class)}"


class PlainTensorUsed(Event, frozen=True, kw_only=True):
    """A tensor that a module stores as a plain attribute is used in a forward.

    `site` is its assignment in the constructor, which does not choose a device; nothing else assigns the attribute.
    """

    owner: int
    """The module."""
    owner_class: str
    """The class of the module."""
    name: str
    """The attribute."""
    used_at: Site
    """Where it is used."""
    trained: bool = False
    """Whether it gets gradients."""
    elements: int = 0
    """The number of elements; 0 if unknown."""

    def words(self, _: Names, /) -> str:
        return f"use {quoted(f'self.{self.name}')} of {short(self.owner_class)}, a plain tensor, on line {self.used_at.row}"
