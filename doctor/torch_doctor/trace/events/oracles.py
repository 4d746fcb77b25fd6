"""Evaluations that a probe run finishes with predictions created from the labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace.events.event import Event
from torch_doctor.trace.events.wording import quoted

if TYPE_CHECKING:
    from torch_doctor.trace.events.names import Names
    from torch_doctor.trace.site import Site

MODEL, PERFECT, CONSTANT, SHUFFLED, RANDOM, FIRST_WRONG, LAST_WRONG = range(7)
"""Whose answers are scored, as positions in `AnswersScored.figures`.

The last two are perfect ones, of which some in the first batch are wrong, or as many in a last batch that is smaller.
"""
ALL_COMPARED = "compared"
"""How a figure shows that is the share of the labels that equal what they are compared with."""

LOGGED = "logged"
"""How a figure shows that a module gives to the logger of its trainer."""


class AnswersScored(Event, frozen=True, kw_only=True):
    """A copy of the process evaluated answers that were made from the labels. Only the probe writes it.

    It is at the line that computes, returns or prints the figure; without one, at the forward.
    """

    forward: int
    """The `Forward` event of the first batch, or the `PredictionsPassed` event."""
    how: str
    """How the figure shows: "assigned", "returned", "printed", "logged" or "compared"; "" if there is none."""
    name: str
    """The variable, the entry of what is returned, the name in the log, or the position among the printed numbers."""
    loop: Site | None = None
    """The loop over the batches."""
    figures: tuple[float, ...] = ()
    """The figure for the answers of the model, and for perfect, constant, shuffled and random ones.

    After these are the figures for answers of which some are wrong, where there are any.
    """
    shares: tuple[float, ...] = ()
    """The share of each of these answers that is right; empty if the labels are numbers."""
    answers: int = 0
    """The number of labels."""
    labels: tuple[float, ...] = ()
    """The shares of the labels that are 0, and 1."""
    batches: int = 0
    """The number of batches."""
    rows: int = 0
    """The number of samples."""
    sizes: tuple[int, ...] = ()
    """The numbers of labels in the first and the last batch."""
    wrong: int = 0
    """How many answers are wrong in the last figures."""
    axis: int = 0
    """The dimension of the output that has the classes, counted from the last one, -1; 0 if there is none."""
    kind: str = ""
    """What the labels are: "classes", "marks" or "numbers"."""
    model: bool = True
    """Whether the first figure is that of the model; if its evaluation takes too long, the one for perfect answers is repeated."""
    unknown: str = ""
    """Why there is no figure; "" if there is one."""

    def words(self, _: Names, /) -> str:
        if self.unknown:
            return f"score no answers made from labels: {self.unknown}"
        names = ("model", "perfect", "constant", "shuffled", "random")
        figures = list(zip(names, self.figures, strict=False))[not self.model :]
        scores = ", ".join(f"{figure:.4g} {name}" for name, figure in figures)
        return f"{self.how} {quoted(self.name)}: {scores}"
