"""Objects of classes: instances, modules and the leaves that they train."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from torch_doctor.static.flow import EMPTY, Flow
from torch_doctor.static.values.facts import Fact
from torch_doctor.static.values.objects import Object
from torch_doctor.static.values.origin import NOWHERE, Origin

if TYPE_CHECKING:
    from torch_doctor.static.tables.layers import Layer
    from torch_doctor.static.values.classes import ClassValue
    from torch_doctor.static.values.plain import Plain
    from torch_doctor.static.values.value import Value
    from torch_doctor.trace import Site, Tri


class Instance(Object):
    """An object of a project class that is no module."""

    __slots__ = ("cls",)

    def __init__(self, cls: ClassValue, born: Site | None = None) -> None:
        super().__init__(born)
        self.cls = cls


class Settings(Object):
    """Settings (`of`) among which the script keeps objects of its own: `args.optimizer = SGD(…)`."""

    __slots__ = ("of",)

    def __init__(self, of: Plain, born: Site | None = None) -> None:
        super().__init__(born)
        self.of = of


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
    """A leaf tensor that requires gradients unless frozen: an `nn.Parameter`, or `torch.randn(..., requires_grad=True)`.

    `declared` tells that it is an `nn.Parameter`; `origin` is that of a leaf that is none.
    """

    __slots__ = ("_flows", "declared", "origin")

    def __init__(
        self, born: Site | None = None, *, declared: bool, flow: Flow | None = None, origin: Origin = NOWHERE
    ) -> None:
        super().__init__(born)
        self.declared = declared
        self.origin = origin
        source = flow or EMPTY
        free = Flow(
            True,
            source.forwards,
            source.graph_forwards,
            source.retained,
            frozenset((self.id,)),
            source.source,
            source.loader,
            source.cuts,
        )
        self._flows = {False: free, True: free.cut(), None: replace(free, graph=None)}

    @property
    def flow(self) -> Flow:  # type: ignore[override]  # of other values it is a field
        """Its history; what is computed of a frozen one has no graph."""
        return self._flows[self.fact(Fact.FROZEN)]
