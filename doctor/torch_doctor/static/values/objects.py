"""Things with an identity and state: modules, parameters, optimizers, loaders, objects of classes and libraries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch_doctor.static.flow import EMPTY, Flow
from torch_doctor.static.values.facts import Fact
from torch_doctor.static.values.symbols import SERIAL
from torch_doctor.static.values.value import Value

if TYPE_CHECKING:
    from pathlib import Path

    from torch_doctor.static.tables.layers import Layer
    from torch_doctor.static.unit import Unit
    from torch_doctor.static.values.classes import ClassValue
    from torch_doctor.static.values.tensors import Made
    from torch_doctor.trace import Site, Tri


class Fields(dict[Any, Any]):
    """The state of one object, with the object's number: what is older than a call was changed by it for others to see."""

    __slots__ = ("id",)

    def __init__(self, id_: int) -> None:
        super().__init__()
        self.id = id_


class UnknownName(str):
    """The name of an attribute that is not known: no name that a script can spell equals it."""

    __slots__ = ()

    @classmethod
    def among(cls, thing: Value) -> UnknownName:
        """Another name than those of the attributes that something has already."""
        return cls(f"?{len(thing.fields) if isinstance(thing, Object) else 0}")


ANY_NAME = UnknownName("?")
"""Stands for any one of the names that a thing's parts may have."""


class Object(Value):
    """A thing with an identity and state. `born` is where it was made.

    `fields` are the attributes, items or variables that the script gives it, `facts` what is known of it besides. Both are
    changed through the heap only.
    """

    __slots__ = ("born", "facts", "fields", "id")

    def __init__(self, born: Site | None = None, same: Object | None = None) -> None:
        self.born = born
        if same is None:
            self.id = next(SERIAL)
            self.fields = Fields(self.id)
            self.facts = Fields(self.id)
        else:  # another name of what is there
            self.id, self.fields, self.facts = same.id, same.fields, same.facts

    def fact(self, fact: Fact) -> Any:  # noqa: ANN401 - each fact says what its values are
        """What is known of it."""
        return self.facts.get(fact, fact.unset)


class Instance(Object):
    """An object of a project class that is no module."""

    __slots__ = ("cls",)

    def __init__(self, cls: ClassValue, born: Site | None = None) -> None:
        super().__init__(born)
        self.cls = cls


class Module(Object):
    """A module. `cls` is the project's class, `layer` the torch name with its `table` entry; neither: only its role is known.

    `sensitive` is what is known of the mode's effect where its insides are not in sight.
    `shell` is the wrapper (its torch name) that this name of the module goes through, "" for the module itself.
    """

    __slots__ = ("cls", "given", "layer", "name", "sensitive", "settings", "shell", "table")

    def __init__(
        self,
        born: Site | None = None,
        *,
        cls: ClassValue | None = None,
        layer: str = "",
        table: Layer | None = None,
        sensitive: Tri = None,
        name: str = "",
        given: tuple[Value, ...] = (),
        settings: dict[str, Value] | None = None,
        shell: str = "",
        same: Module | None = None,
    ) -> None:
        super().__init__(born, same)
        self.cls = cls
        self.layer = layer
        self.table = table
        self.sensitive = sensitive
        self.name = name
        self.given = given  # the constructor's arguments, of a layer; `settings` are those with names
        self.settings = settings or {}
        self.shell = shell

    def within(self, shell: str) -> Module:
        """The same module, called through a wrapper."""
        return Module(
            self.born,
            cls=self.cls,
            layer=self.layer,
            table=self.table,
            sensitive=self.sensitive,
            name=self.name,
            given=self.given,
            settings=self.settings,
            shell=shell,
            same=self,
        )

    @property
    def class_name(self) -> str:
        """The class as the user knows it."""
        return self.layer or (self.cls.name if self.cls is not None else "")


class ParameterValue(Object):
    """A leaf tensor that requires gradients: an `nn.Parameter`, or `torch.randn(..., requires_grad=True)`.

    `declared` tells that it is an `nn.Parameter`. `made` is what is known of a leaf that is none where it is computed
    of numbers alone.
    """

    __slots__ = ("declared", "flow", "made")

    def __init__(
        self, born: Site | None = None, *, declared: bool, flow: Flow | None = None, made: Made | None = None
    ) -> None:
        super().__init__(born)
        self.declared = declared
        self.made = made
        source = flow or EMPTY
        self.flow = Flow(
            True,
            source.forwards,
            source.graph_forwards,
            source.retained,
            frozenset((self.id,)),
            source.source,
            source.loader,
            source.cuts,
        )


class Optimizer(Object):
    """An optimizer with the modules whose parameters it has; `whole` False when it may have others."""

    __slots__ = ("class_name",)

    def __init__(self, born: Site | None, class_name: str, modules: frozenset[int], *, whole: bool) -> None:
        super().__init__(born)
        self.class_name = class_name
        self.facts[Fact.TAKEN] = modules
        self.facts[Fact.COMPLETE] = whole

    @property
    def modules(self) -> frozenset[int]:
        """The numbers of the modules whose parameters it has now."""
        modules: frozenset[int] = self.facts[Fact.TAKEN]
        return modules

    @property
    def whole(self) -> bool:
        """Whether it has those of no others."""
        whole: bool = self.facts[Fact.COMPLETE]
        return whole


class Tool(Object):
    """An object of a library class, by the class's dotted name; `holds` are the objects it was built with."""

    __slots__ = ("args", "holds", "keywords", "name")

    def __init__(
        self,
        born: Site | None,
        name: str,
        holds: frozenset[int] = frozenset(),
        args: tuple[Value, ...] = (),
        keywords: dict[str, Value] | None = None,
    ) -> None:
        super().__init__(born)
        self.name = name
        self.holds = holds
        self.args = args
        self.keywords = keywords or {}


class Distribution(Tool):
    """A distribution of torch; `flow` is what it was made of."""

    __slots__ = ("flow",)

    def __init__(self, born: Site | None, name: str, flow: Flow, holds: frozenset[int]) -> None:
        super().__init__(born, name, holds)
        self.flow = flow


class Loader(Object):
    """A data loader, or what is used as one."""

    __slots__ = ("name",)

    def __init__(self, born: Site | None = None, name: str = "") -> None:
        super().__init__(born)
        self.name = name


class Namespace(Object):
    """A project file that was imported; its fields are its globals."""

    __slots__ = ("unit",)

    def __init__(self, unit: Unit) -> None:
        super().__init__()
        self.unit = unit

    @property
    def whole(self) -> bool:
        """Whether all of its top level was executed."""
        whole: bool = self.fact(Fact.EXECUTED)
        return whole


class Package(Value):
    """A folder of the project without an `__init__.py`."""

    __slots__ = ("path",)

    def __init__(self, path: Path) -> None:
        self.path = path
