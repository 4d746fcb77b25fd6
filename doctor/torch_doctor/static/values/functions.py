"""Functions of the project, and the frames that hold their variables while they run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch_doctor.static.values.objects import Object
from torch_doctor.static.values.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch_doctor.static import program as p
    from torch_doctor.static.landing import Landing
    from torch_doctor.static.unit import Unit
    from torch_doctor.static.values.classes import ClassValue
    from torch_doctor.static.values.objects import Namespace


class Frame(Object):
    """One function call, class body or file; its variables are its fields. `closure` is the frame around its definition."""

    __slots__ = (
        "chosen",
        "closure",
        "globals",
        "on_yield",
        "outer",
        "owner",
        "record",
        "returned",
        "returns",
        "self",
        "unit",
        "what",
        "yielded",
    )

    def __init__(self, unit: Unit, globals_: Namespace, closure: Frame | None = None) -> None:
        super().__init__()
        self.unit = unit
        self.globals = globals_
        self.closure = closure
        self.chosen = 0  # arms of branches, among others, that the current statement is in
        self.what: FunctionValue | None = None
        self.owner: ClassValue | None = None
        self.self: Value | None = None
        self.outer: dict[str, bool] = {}  # names declared global (True) or nonlocal (False)
        self.returned: list[tuple[frozenset[Any], Value]] = []
        self.returns: Landing | None = None
        self.yielded: list[Value] = []
        self.on_yield: Callable[[Value], Value] | None = None

    def holder(self, name: str) -> Object | None:
        """The frame or namespace that has the variable `name`, from the inside out."""
        frame: Frame | None = self
        while frame is not None:
            if name in frame.fields:
                return frame
            frame = frame.closure
        return self.globals if name in self.globals.fields else None


def top_frame(unit: Unit, namespace: Namespace) -> Frame:
    """The frame of a file's top level: its variables are the file's globals."""
    frame = Frame(unit, namespace)
    frame.fields = namespace.fields
    return frame


class Memo(Value):
    """Decorates a function that computes once for equal arguments."""

    __slots__ = ()


class FunctionValue(Value):
    """A project function with the frame it closes over. `owner` is the class that defines it as a method.

    `setter` is what assigns to it, where it is a property that has one.
    """

    __slots__ = ("closure", "contexts", "node", "owner", "setter", "style", "unit")

    def __init__(
        self,
        node: p.Function,
        unit: Unit,
        closure: Frame,
        owner: ClassValue | None = None,
        style: str = "",
        contexts: tuple[Value, ...] = (),
        setter: FunctionValue | None = None,
    ) -> None:
        self.node = node
        self.setter = setter
        self.unit = unit
        self.closure = closure
        self.owner = owner
        self.style = style  # "", "static", "class", "property", "contextmanager"
        self.contexts = contexts  # grad-mode contexts that decorate it, and what keeps its results

    @property
    def memoized(self) -> bool:
        """Whether it computes once for equal arguments."""
        return any(isinstance(context, Memo) for context in self.contexts)
