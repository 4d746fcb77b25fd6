"""What is summed up: weights along a dimension, and tensors over all of theirs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace.events.event import Event
from torch_doctor.trace.events.wording import in_brackets, quoted, short

if TYPE_CHECKING:
    from torch_doctor.trace.events.names import Names
    from torch_doctor.trace.site import Site


class WeightsSummed(Event, frozen=True, kw_only=True):
    """A product or a weighted sum has weights that come from a softmax; `site` is the softmax.

    Places of dimensions are those in the result of the softmax, counted from the end.
    """

    name: str
    """The expression of the softmax."""
    product: str
    """The expression of the product."""
    used_at: Site
    """The product."""
    along: int
    """The dimension that the softmax normalizes."""
    summed: int
    """The dimension that the product sums over."""
    dims: int = 0
    """The number of dimensions; 0 if unknown."""
    from_start: bool = False
    """Whether the script counts the normalized dimension from the start."""
    weights: int = 0
    """The number of weights along the summed dimension; 0 if unknown."""
    by_call: bool = False
    """Whether `site` is the call of a function or method that gets the dimension."""
    compared: bool = False
    """Whether the scores compare pairs along the summed dimension."""
    of_samples: bool = False
    """Whether the normalized dimension has the samples of a batch, and each has several weights, unless `weights` is 1. Only the
    static witness knows it.
    """
    smallest: float = 0.0
    """The smallest sum of weights along the summed dimension. Only the probe knows it."""
    largest: float = 0.0
    """The largest one. Only the probe knows it."""

    def words(self, _: Names, /) -> str:
        text = f"{quoted(short(self.product))} sums over dimension {self.summed} of {quoted(short(self.name))}"
        return f"{text}, normalized over {self.along}"


class ReducedToOne(Event, frozen=True, kw_only=True):
    """A sum, or a choice of the largest, goes over a complete batch, where something else has a number for each sample.

    `site` is the reduction.
    """

    name: str
    """The expression."""
    function: str
    """The name of the function."""
    shape: tuple[int | str | None, ...]
    """The shape of its input."""
    how: str = ""
    """What it meets: "divided" by it is what a mask leaves of each sample, "added" to a loss of each sample, "compared" with
    labels, "normalized" weights of a sum, "averaged" after another function. "totalled": what was divided by it is summed up, so
    one number is right. The probe does not know.
    """
    used_at: Site | None = None
    """Where they meet."""

    def words(self, _: Names, /) -> str:
        sizes = ", ".join("?" if size is None else str(size) for size in self.shape)
        return f"{quoted(short(self.name))} reduces [{sizes}] to one number{in_brackets([self.how] * bool(self.how))}"
