"""Layers that get what another layer of the same sort gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace.events.event import Event
from torch_doctor.trace.events.wording import quoted

if TYPE_CHECKING:
    from torch_doctor.trace.events.names import Names
    from torch_doctor.trace.site import Site


class LinearsChained(Event, frozen=True, kw_only=True):
    """A linear layer gets the output of another one as it is.

    `site` is the call of the second layer; within a `Sequential`, its construction.
    """

    name: str
    """The call of the second layer, or its class."""
    first: int
    """The layer whose output it gets."""
    second: int
    """The layer that gets it."""
    first_at: Site | None
    """The construction of the first layer."""
    second_at: Site | None
    """The construction of the second layer."""
    outputs: int = 0
    """How many outputs of the first layer were seen."""
    passed: int = 0
    """How many of them the second layer got."""
    others: int = 0
    """How many inputs of the second layer came from elsewhere."""
    widths: tuple[int, ...] = ()
    """The inputs and outputs of the first layer, and the outputs of the second. Only the probe knows them."""

    def words(self, _: Names, /) -> str:
        return f"{quoted(self.name)} gets the output of a linear layer: {self.passed} of {self.outputs} times"
