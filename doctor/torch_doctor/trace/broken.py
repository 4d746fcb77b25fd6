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
    """A part of a program that does not do what it is meant to."""

    site: Site
    """The place."""
    meant: Meant
    """What it is meant to do."""
    code: str
    """The code of the rule that reports it."""
    name: str
    """The name of this rule."""
