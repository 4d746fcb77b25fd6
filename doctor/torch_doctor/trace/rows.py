"""Rows: which samples of which source a data set has, in which order, and what has prepared them."""

from __future__ import annotations

from msgspec import Struct

from torch_doctor.trace.site import Site  # noqa: TC001 - msgspec reads it


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


class ModelInput(Struct, frozen=True, kw_only=True):
    """An input of a model in one script, with what it takes to compare it with those in other scripts of the project."""

    script: str
    """The script."""
    model: str
    """A text that is equal for models of one class."""
    own: bool
    """Whether the class is one of the project."""
    built: Site
    """Where the model is built."""
    trains: bool
    """Whether the script trains it; else it may load its weights."""
    site: Site
    """Where the data set is built, or the input prepared."""
    files: tuple[str, ...] = ()
    """The names of the files with its weights, with `*` for what is not known; "" for a name that is not known."""
    called: str = ""
    """The expression for the model."""
    sort: str = ""
    """The sort of the preparation, as in `InputPrepared`; "" for a model of which only the files are told."""
    how: str = ""
    """A text that is equal for equal preprocessing; "" if it is not known."""
    prepared_at: Site | None = None
    """Where the input is preprocessed; None if that is not known."""
    mean: tuple[float, ...] = ()
    """For a scale, the numbers that are subtracted."""
    std: tuple[float, ...] = ()
    """For a scale, the numbers that divide them then."""
    later: bool = False
    """For a scale, whether the script changes it after a loader returned the batch."""
    name: str = ""
    """The expression for what preprocesses it."""
