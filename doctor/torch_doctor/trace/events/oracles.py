"""Evaluations that a probe run finishes with predictions created from the labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace.events.event import Event
from torch_doctor.trace.events.wording import quoted

if TYPE_CHECKING:
    from torch_doctor.trace.events.names import Names
    from torch_doctor.trace.site import Site

MODEL, PERFECT, CONSTANT, SHUFFLED, RANDOM = range(5)
"""Whose answers are scored, as positions in `AnswersScored.figures`."""


class AnswersScored(Event, frozen=True, kw_only=True):
    """A copy of the process evaluated answers that were made from the labels. Only the probe writes it.

    It is at the line that computes, returns or prints the figure; without one, at the forward.
    """

    forward: int
    """The `Forward` event of the first batch."""
    how: str
    """How the figure shows: "assigned", "returned" or "printed"; "" if there is none."""
    name: str
    """The variable, the entry of the returned value, or the position among the printed numbers."""
    loop: Site | None = None
    """The loop over the batches."""
    figures: tuple[float, ...] = ()
    """The figure for the answers of the model, and for perfect, constant, shuffled and random ones."""
    shares: tuple[float, ...] = ()
    """The share of each of these answers that is right; empty if the labels are numbers."""
    answers: int = 0
    """The number of labels."""
    labels: tuple[float, ...] = ()
    """The shares of the labels that are 0, and 1."""
    batches: int = 0
    """The number of batches."""
    kind: str = ""
    """What the labels are: "classes", "marks" or "numbers"."""
    unknown: str = ""
    """Why there is no figure; "" if there is one."""

    def words(self, _: Names, /) -> str:
        if self.unknown:
            return f"score no answers made from labels: {self.unknown}"
        names = ("model", "perfect", "constant", "shuffled", "random")
        scores = ", ".join(f"{figure:.4g} {name}" for name, figure in zip(names, self.figures, strict=False))
        return f"{self.how} {quoted(self.name)}: {scores}"
