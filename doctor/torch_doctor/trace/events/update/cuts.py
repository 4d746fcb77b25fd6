"""The ends of graphs: values and parameters that are read without them, and new leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace.events.event import NO_EVENTS, Event
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


class TrainableSet(Event, frozen=True, kw_only=True):
    """All parameters that some modules have themselves are frozen, or thawed. Only the static witness writes it."""

    modules: frozenset[int]
    """The owners of the parameters."""
    on: bool
    """Whether they require gradients from here on."""
    thawed: frozenset[int] = NO_EVENTS
    """Those of `modules` that were surely frozen before."""
    since: Site | None = None
    """Where they were frozen, if in one place."""

    def words(self, names: Names, /) -> str:
        return f"{'require gradients of' if self.on else 'freeze'} {names.things(self.modules)}"


class Thawed(Event, frozen=True, kw_only=True):
    """Parameters that the script froze require gradients again when their module is called. Only the probe writes it.

    `site` is where they were thawed. Nothing was called in between.
    """

    since: Site | None
    """Where they were frozen."""
    tensors: int
    """The number of the parameter tensors."""
    frozen: int
    """The number of those frozen in that place that still are."""

    def words(self, _: Names, /) -> str:
        return f"thaw {self.tensors} frozen parameter tensors before they are used"


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
