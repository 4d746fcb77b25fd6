"""The base class of events, and what an event knows of a tensor."""

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
    """What is known of a tensor at the place where an event uses it."""

    kind: Kind = Kind.UNKNOWN
    """What the numbers are, such as logits or probabilities."""
    name: str = ""
    """The expression that the script uses for it."""
    operation_at: Site | None = None
    """Where the operation that gave the tensor its kind is called."""
    operation: str = ""
    """The torch name of the operation that gave the tensor its kind, such as `torch.nn.Softmax`."""
    graph: Tri = None
    """Whether it has an autograd graph."""
    scalar: Tri = None
    """Whether it holds a single number."""
    source: Source = Source.UNKNOWN
    """Where its numbers come from."""
    forwards: frozenset[int] = NO_EVENTS
    """The `Forward` events whose data it contains, also through `detach` and `no_grad`."""
    graph_forwards: frozenset[int] = NO_EVENTS
    """The `Forward` events that its gradients can reach."""
    retained: frozenset[int] = NO_EVENTS
    """The `Retained` events whose values it contains."""
    dtype: str = ""
    """The name of its dtype without `torch.`; "floating" if only that is known, "" if unknown."""
    shape: tuple[int | str | None, ...] | None = None
    """The size of each dimension: a number, a word (the same word is the same size) or None; "..." is any number of dimensions."""
    cuts: frozenset[int] = NO_EVENTS
    """The `GraphCut` events that its data went through."""
    leaf: Tri = None
    """Whether it requires gradients, has no history and is not an `nn.Parameter`."""
    loader: int = 0
    """The data loader whose batches it contains; 0 if there is none or it is unknown."""
    chance: Tri = None
    """False if no random transform of its dataset changed it, although one changed other parts of the same samples."""

    def words(self) -> str:
        """Return the tensor in words."""
        kind = self.kind.value if self.kind is not Kind.UNKNOWN else ""
        graph = {True: "with its graph", False: "without a graph", None: ""}[self.graph]
        meta = f"{self.dtype}{self.size()}" if self.shape is not None else self.dtype
        if self.name:
            return f"{quoted(self.name)}{in_brackets(part for part in (kind, meta, graph) if part)}"
        return f"{kind or 'a tensor'} {graph}" if graph else kind or "something"

    def size(self) -> str:
        """Return the shape as torch prints it, with a question mark for each unknown size."""
        return "[" + ", ".join("?" if size is None else str(size) for size in self.shape or ("...",)) + "]"


class Event(Struct, frozen=True, kw_only=True, eq=False):
    """Something that happened at one place of a script."""

    site: Site
    """The place in the source."""
    scope: Scope
    """The loops and calls that it happened in."""
    guards: Guards = frozenset()
    """The branches that it depends on."""
    index: int = -1
    """Its position in the trace."""

    def introduce(self, names: Names) -> None:
        """Add the names of the objects that this event constructs or calls."""

    def words(self, _: Names, /) -> str:
        """Return the event in words; the name of its class if the indentation of a trace shows it."""
        return type(self).__name__
