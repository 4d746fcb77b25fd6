"""Where jumps arrive, and the states that they bring."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch_doctor.static.values.objects import Fields


class Landing:
    """Where jumps arrive: the end of an iteration, of a loop or of a function. `arrivals` are the states they bring."""

    __slots__ = ("arrivals", "depth", "direct", "loops", "mark")

    def __init__(self, mark: int, depth: int, loops: int = 0) -> None:
        self.mark = mark
        self.depth = depth
        self.loops = loops
        self.direct = False  # the path that no branch interrupted arrived: the current state is its state
        self.arrivals: list[dict[tuple[int, Any], tuple[Fields, Any, Any]]] = []
