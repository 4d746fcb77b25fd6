"""The ends of graphs: values and parameters that are read without them, and new leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace.events.event import Event
from torch_doctor.trace.events.wording import in_brackets, quoted

if TYPE_CHECKING:
    from torch_doctor.trace.events.event import TensorFact
    from torch_doctor.trace.events.names import Names
    from torch_doctor.trace.site import Site
    from torch_doctor.trace.words import Tri


class GraphCut(Event, frozen=True, kw_only=True):
    """The graph of a tensor that derives from a forward ends."""

    how: str
    """What ends it, such as `detach`, `data`, `item`, `numpy`, `float`, `argmax` or a comparison."""
    value: TensorFact
    """The tensor."""

    def words(self, _: Names, /) -> str:
        return f"{quoted(self.how)} ends the graph of {self.value.words()}"


class ParameterCut(Event, frozen=True, kw_only=True):
    """A parameter is read without its graph."""

    how: str
    """What ends the graph, as in `GraphCut`."""
    parameter: int
    """The parameter."""
    text: str
    """The expression."""
    attribute: str = ""
    """The attribute of the parameter, qualified by the class of its module."""
    alone: bool = False
    """Whether a loss that goes backward uses the result, and nothing else uses the parameter."""
    backward: Site | None = None
    """Where that loss goes backward."""

    def words(self, _: Names, /) -> str:
        return f"{quoted(self.how)} takes a parameter without its graph{in_brackets(['its only use in the loss'] * self.alone)}"


class LeafMade(Event, frozen=True, kw_only=True):
    """A computed tensor without a graph requires gradients from here on."""

    leaf: int
    """The tensor."""
    value: TensorFact
    """The value that it contains."""

    def words(self, _: Names, /) -> str:
        return f"require gradients of {self.value.words()}, which starts a new graph"


class GradFlagSet(Event, frozen=True, kw_only=True):
    """An attribute related to gradients is set where torch does not read it: on a tensor or a module."""

    name: str
    """The expression that is assigned to."""
    attribute: str
    """The attribute."""
    of: str
    """What it is set on: "tensor", which includes parameters, or "module"."""
    value: Tri = None
    """The truth value that is assigned; None if unknown."""
    records: Tri = None
    """Whether gradients are recorded for the tensor."""

    def words(self, _: Names, /) -> str:
        return f"set {quoted(self.name)} of a {self.of}, which torch ignores"
