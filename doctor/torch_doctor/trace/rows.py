"""Rows: which samples of which source a data set has, in which order, and what has prepared them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from torch_doctor.trace.site import Site


class Preparation(Struct, frozen=True):
    """One step that prepares samples before a model gets them."""

    name: str
    """What does it, in the words of the script."""
    site: Site | None = None
    """Where it is written; None if unknown."""


class Rows(Struct, frozen=True):
    """The rows of a data set, an array or a loader. "" in any field means that it is unknown."""

    source: str = ""
    """What they come from: a class with what tells it from others, or a file."""
    selection: str = ""
    """Which of the rows of the source: "all", a slice, or a random part."""
    order: str = ""
    """In which order: "stored", "shuffled", "drawn" or "sampled"."""
    preparations: tuple[Preparation, ...] = ()
    """What prepares them, in order."""
    complete: bool = False
    """Whether nothing else prepares them."""
    sample: str = ""
    """The types and sizes in a sample."""
