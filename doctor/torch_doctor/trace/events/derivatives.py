"""Operations whose derivative is infinite at a value that their operand can take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace.events.event import Event
from torch_doctor.trace.events.wording import quoted
from torch_doctor.trace.limits import Limits

if TYPE_CHECKING:
    from torch_doctor.trace.events.names import Names
    from torch_doctor.trace.site import Site
    from torch_doctor.trace.words import Tri


class DerivativeInfinite(Event, frozen=True, kw_only=True):
    """A loss goes backward through an operation whose derivative is infinite or NaN at a value of its operand.

    The static witness writes those whose operand takes this value by construction. The probe writes every such operation that
    it has checked; `reached` tells what it found.
    """

    operation: str
    """The name of the function, such as `sqrt`; `pow` for powers below 1, `div` for quotients."""
    name: str
    """The expression for the operand."""
    place: float
    """The value of the operand."""
    why: str = ""
    """Why the operand has this value: "clamp", "epsilon", "mask", "pair", "rounding", "test", "single" or "row".

    "" if it was only seen.
    """
    limits: Limits = Limits()
    """The limits of the operand."""
    made_at: Site | None = None
    """Where the operation is that gives the operand this value; None if unknown."""
    made: str = ""
    """The expression there."""
    by_call: bool = False
    """Whether the operand is the first argument of a call, or its object."""
    reached: Tri = None
    """Whether the operand has this value, or can have it; None if the probe has not seen it."""
    count: int = 0
    """How many numbers had the value. Only the probe counts them."""
    of: int = 0
    """How many numbers the operand has. Only the probe counts them."""
    derivative: str = ""
    """The derivative there, as the probe has computed it: "inf", "-inf" or "nan"."""

    def words(self, _: Names, /) -> str:
        because = f" ({self.why})" if self.why else ""
        seen = f", {self.count} of {self.of} seen" if self.of else ""
        return f"{self.operation} of {quoted(self.name)}, which can be {self.place:g}{because}{seen}"
