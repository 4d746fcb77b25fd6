"""Things with an identity and state: optimizers, loaders, files, and objects of libraries."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from torch_doctor.static.values.facts import Fact
from torch_doctor.static.values.symbols import SERIAL
from torch_doctor.static.values.value import Value

if TYPE_CHECKING:
    from pathlib import Path

    from torch_doctor.static.flow import Flow
    from torch_doctor.static.unit import Unit
    from torch_doctor.static.values.value import Keywords
    from torch_doctor.trace import Site


NEWEST = sys.maxsize
"""The number of fields that only remember what follows from others: for whom they are written, nothing has changed."""


class Fields(dict[Any, Any]):
    """The state of one object, with the object's number: what is older than a call was changed by it for others to see."""

    __slots__ = ("id",)

    def __init__(self, id_: int) -> None:
        super().__init__()
        self.id = id_


class PathFields(Fields):
    """State of an observer or of some knowledge, of which the paths of a run each have their own."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(NEWEST)


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

    def fact(self, fact: Fact) -> Any:
        """What is known of it."""
        return self.facts.get(fact, fact.unset)


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
    """A distribution of torch; `flow` is what it was made of, and `given` are its parameters by name."""

    __slots__ = ("flow", "given")

    def __init__(self, born: Site | None, name: str, flow: Flow, holds: frozenset[int], given: Keywords) -> None:
        super().__init__(born, name, holds)
        self.flow = flow
        self.given = given


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


class Globals(Value):
    """The `__dict__` of a project file: its globals by name."""

    __slots__ = ("namespace",)

    def __init__(self, namespace: Namespace) -> None:
        self.namespace = namespace


class Deferred(Value):
    """A name that was imported from a file at `path`, which is executed when it is used; "" is the file itself."""

    __slots__ = ("name", "path")

    def __init__(self, path: Path, name: str) -> None:
        self.path = path
        self.name = name


def stand_for_one(left: Value, right: Value) -> bool:
    """Whether both are the same name of the same file, not used yet."""
    if not isinstance(left, Deferred) or not isinstance(right, Deferred):
        return False
    return (left.path, left.name) == (right.path, right.name)


class NamespacePackage(Value):
    """A folder of the project without an `__init__.py`."""

    __slots__ = ("path",)

    def __init__(self, path: Path) -> None:
        self.path = path
