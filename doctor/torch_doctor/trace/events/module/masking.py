"""Masks that layers and attention get: what they mark, and what is left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace.events.event import Event
from torch_doctor.trace.events.wording import quoted

if TYPE_CHECKING:
    from torch_doctor.trace.events.names import Names
    from torch_doctor.trace.site import Site
    from torch_doctor.trace.words import Tri


class MaskGiven(Event, frozen=True, kw_only=True):
    """Attention gets a mask, or scores are masked before a softmax."""

    name: str
    """The short name of the layer or function that gets the mask."""
    mask: str = ""
    """The expression of the argument; "" if unknown."""
    keyword: str = ""
    """The keyword of the argument."""
    position: int = 0
    """Its position in the call as written, from 0."""
    marks: str = ""
    """What is True in it: "tokens", "padding", "past" (the element itself and earlier ones), "future"; "" if unknown."""
    leaves_out: bool = True
    """Whether the layer leaves out what is True; otherwise, it leaves out what is False."""
    inverted: Tri = None
    """Whether the layer leaves out what it should use, and uses what it should leave out."""
    nothing: bool = False
    """Whether the layer leaves nothing out although there is padding."""
    made_at: Site | None = None
    """Where the mask is computed."""
    rows: int = 0
    """The number of samples, or of positions for a causal mask, that the probe looked at."""
    token: int | None = None
    """The only token that the layer uses, as seen by the probe."""
    hidden: int = 0
    """The number of other tokens, or of earlier elements, that the layer leaves out, as seen by the probe."""

    def words(self, _: Names, /) -> str:
        given = quoted(self.mask) if self.mask else "a mask"
        true = f", which is True for {self.marks}" if self.marks else ""
        how = " (of nothing)" if self.nothing else {True: " (inverted)", False: "", None: " (unknown)"}[self.inverted]
        return f"give {self.name} {given}{true}{how}"
