"""A function's variables while it is executed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch_doctor.static.values import Object

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch_doctor.static.unit import Unit
    from torch_doctor.static.values import ClassValue, Fields, FunctionValue, Namespace, Value


class Landing:
    """Where jumps arrive: the end of an iteration, of a loop or of a function. `arrivals` are the states they bring."""

    __slots__ = ("arrivals", "depth", "direct", "loops", "mark")

    def __init__(self, mark: int, depth: int, loops: int = 0) -> None:
        self.mark = mark
        self.depth = depth
        self.loops = loops
        self.direct = False  # the path that no branch interrupted arrived: the current state is its state
        self.arrivals: list[dict[tuple[int, Any], tuple[Fields, Any, Any]]] = []


class Frame(Object):
    """One function call, class body or file; its variables are its fields. `closure` is the frame around its definition."""

    __slots__ = (
        "chosen",
        "closure",
        "globals",
        "loops_before",
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
        self.loops_before = 0
        self.record = 0  # the depth of the loop in which the branch around notes that something is better than ever
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
