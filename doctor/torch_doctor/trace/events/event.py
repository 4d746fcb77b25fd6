"""What every event has, and what is known of a tensor in one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from torch_doctor.trace.events.wording import in_brackets, quoted
from torch_doctor.trace.site import Site
from torch_doctor.trace.words import Kind, Source, Tri

if TYPE_CHECKING:
    from torch_doctor.trace.events.names import Names
    from torch_doctor.trace.scope import Guards, Scope


Trail = tuple[tuple[Site, str], ...]


NO_EVENTS: frozenset[int] = frozenset()


class TensorFact(Struct, frozen=True, kw_only=True):
    """What is known of a tensor where an event used it.

    `operation` is the torch name of what gave it its kind (`torch.nn.Softmax`), `operation_at` where that was called.
    `graph` tells whether an autograd graph hangs on it.
    `forwards` are the `Forward` events whose data went into it (through `detach` and `no_grad` too), `graph_forwards` those
    that it can still send gradients to, `retained` the `Retained` events it contains, `cuts` the `GraphCut` events its data went
    through. `leaf`: it requires gradients, has no history and is no `nn.Parameter`. `loader` is
    the data loader whose batches went into it, 0 when there is none or it is not known which. `name` is the user's expression.
    `dtype` is torch's name of it without the `torch.` ("floating" where only that is known, "" where nothing is). `shape`
    holds the size of each dimension: a number, a word (dimensions with the same word are as long), or None where it is
    not known; "..." in front stands for any number of others. It is None where nothing is known. `chance` is False for what no
    random transform of its data set has touched, although one made other parts of the same rows.
    """

    kind: Kind = Kind.UNKNOWN
    name: str = ""
    operation_at: Site | None = None
    operation: str = ""
    graph: Tri = None
    scalar: Tri = None
    source: Source = Source.UNKNOWN
    forwards: frozenset[int] = NO_EVENTS
    graph_forwards: frozenset[int] = NO_EVENTS
    retained: frozenset[int] = NO_EVENTS
    dtype: str = ""
    shape: tuple[int | str | None, ...] | None = None
    cuts: frozenset[int] = NO_EVENTS
    leaf: Tri = None
    loader: int = 0
    chance: Tri = None

    def words(self) -> str:
        """The tensor in words."""
        kind = self.kind.value if self.kind is not Kind.UNKNOWN else ""
        graph = {True: "with its graph", False: "without a graph", None: ""}[self.graph]
        meta = f"{self.dtype}{self.size()}" if self.shape is not None else self.dtype
        if self.name:
            return f"{quoted(self.name)}{in_brackets(part for part in (kind, meta, graph) if part)}"
        return f"{kind or 'a tensor'} {graph}" if graph else kind or "something"

    def size(self) -> str:
        """The shape as torch prints it, with question marks for what is not known."""
        return "[" + ", ".join("?" if size is None else str(size) for size in self.shape or ("...",)) + "]"


class Event(Struct, frozen=True, kw_only=True, eq=False):
    """Something that happened at `site`, within `scope`, behind `guards`; `index` is its place in the trace."""

    site: Site
    scope: Scope
    guards: Guards = frozenset()
    index: int = -1

    def introduce(self, names: Names) -> None:
        """Tell what the objects of this event are called, where it builds or calls some."""

    def words(self, _: Names, /) -> str:
        """The event in words; its class's name where what it says shows in the indentation of a trace."""
        return type(self).__name__
