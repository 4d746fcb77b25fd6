"""The axes of tensors, as `trace --shapes` shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace.events.event import Event
from torch_doctor.trace.events.wording import quoted

if TYPE_CHECKING:
    from torch_doctor.trace.events.names import Names


class Shaped(Event, frozen=True, kw_only=True):
    """A variable, an attribute or a parameter gets a tensor. Only `trace --shapes` asks for it."""

    name: str
    """The variable or attribute, as the script spells it."""
    axes: tuple[str, ...]
    """How long each dimension is: a number, a product of names, or "?"; a first "..." is any number of dimensions."""
    dtype: str = ""
    """The name of its dtype without `torch.`; "floating" if only that is known, "" if unknown."""
    device: str = ""
    """The device, as torch writes it; "" if unknown."""

    def words(self, _: Names, /) -> str:
        return f"{quoted(self.name)} is [{', '.join(self.axes)}]"
