"""Broken parts of a source, and what they were meant to do: what is behind them is looked at as if they did."""

from __future__ import annotations

import enum
from typing import NamedTuple

from torch_doctor.trace.site import Site  # noqa: TC001 - msgspec reads it

__all__ = ["Broken", "Meant"]


class Meant(enum.Enum):
    """What was meant at the place of a broken part."""

    CALLED = "the method that is named there is called"
    REACHED = "the loss that goes backward there reaches the model that it was computed from"
    FILLED = "before the step there, the loss goes backward"
    TAKEN = "the optimizer that is built there has what goes backward"
    REGISTERED = "the container that is assigned there registers the modules in it"


class Broken(NamedTuple):
    """A part that does not do what it was meant to, with the code and name of the rule that says so."""

    site: Site
    meant: Meant
    code: str
    name: str
