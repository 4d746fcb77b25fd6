"""The terms of losses, and what keeps their gradients from parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace.events.event import NO_EVENTS, Event
from torch_doctor.trace.events.wording import in_brackets, quoted, short

if TYPE_CHECKING:
    from torch_doctor.trace.events.names import Names
    from torch_doctor.trace.site import Site


class TermCut(Event, frozen=True, kw_only=True):
    """A term of a loss that goes backward next has no gradient for modules that it was computed with, but other terms have one.

    `site` is the expression of the term; in the trace of the probe it is the sum.
    """

    name: str
    """The expression of the term."""
    summed_at: Site
    """The sum that it is a term of."""
    backward: Site
    """Where the loss goes backward."""
    modules: frozenset[int] = NO_EVENTS
    """The owners of the parameters that the term's gradient reaches."""
    others: frozenset[int] = NO_EVENTS
    """The owners of the parameters that the gradients of the other terms reach."""
    lost: frozenset[int] = NO_EVENTS
    """The owners of the parameters that it reached until the graph was cut. Only the static witness knows them."""
    how: str = ""
    """What cuts the graph, such as `detach`, `item` or a comparison; "" if unknown."""
    cut_at: Site | None = None
    """Where that is."""
    passes: int = 0
    """The number of backward passes with the term. Only the probe counts them."""
    values: int = 0
    """The number of different values that it had in them; 0 if it has a graph."""

    def words(self, names: Names, /) -> str:
        reached = names.things(self.modules, whole=True) if self.modules else "nothing"
        seen = [f"{self.values} values in {self.passes} passes"] * bool(self.passes)
        how = [f"cut by {quoted(self.how)}"] * bool(self.how)
        return f"term {short(self.name)}: gradients for {reached}{in_brackets([*how, *seen])}"


class TermGradient(Event, frozen=True, kw_only=True):
    """Before a loss goes backward for the first time, the gradient of one of its terms was measured for one module.

    `site` is the backward pass. Only the probe writes it, where somebody wants to see it.
    """

    loss: str
    """The expression for the loss."""
    number: int
    """Which of the terms of the loss it is, from 0."""
    term: str
    """The expression of the term; that of the loss if it has a single one."""
    module: str
    """The module, or the part of a model, as the script calls it."""
    norm: float | None
    """The norm of the gradient of the term for its parameters; None if it reaches none of them."""
    weights: float
    """The norm of these parameters."""

    def words(self, _: Names, /) -> str:
        size = "none" if self.norm is None else f"norm {self.norm:.3g}"
        return f"gradient of the term {quoted(self.term)} for {quoted(self.module)}: {size}"
