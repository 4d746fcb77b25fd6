"""What models see of the elements that they are trained to predict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace.events.event import Event
from torch_doctor.trace.events.wording import in_brackets, short

if TYPE_CHECKING:
    from torch_doctor.trace.events.names import Names
    from torch_doctor.trace.site import Site


class FutureSeen(Event, frozen=True, kw_only=True):
    """Each target of a loss is the element after the position that its score is for, and the model can see it.

    `site` is what lets positions see later ones; it is the loss if the probe found that the model sees no later ones.
    """

    name: str
    """The expression at `site`."""
    how: str
    """The sort: "attention", "recurrent", "convolution" or "other"; "" if the model does not see the targets."""
    loss_at: Site
    """The loss."""
    model: str = ""
    """The expression for the model."""
    changed: int = 0
    """In how many samples outputs changed with a later element. Only the probe counts them."""
    of: int = 0
    """The number of samples in which the probe changed an element."""

    def words(self, _: Names, /) -> str:
        counted = [f"{self.changed} of {self.of} samples change with a later element"] * bool(self.of)
        if not self.how:
            return f"targets are the next elements, which the model does not see{in_brackets(counted)}"
        return f"{short(self.name)} sees the next elements, which are the targets{in_brackets(counted)}"
