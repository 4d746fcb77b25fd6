"""Rows: which samples of which source a data set has, in which order, and what has prepared them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace.site import Site


class Preparation(Struct, frozen=True):
    """One step that prepares samples before a model gets them."""

    name: str
    """What does it, in the words of the script."""
    site: Site | None = None
    """Where it is written; None if unknown."""
    random: bool = False
    """Whether it changes a sample at random, which is for training alone."""
    how: str = ""
    """A text that is equal for steps of this name with the same result; "" if the name says it."""


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


class Difference(Struct, frozen=True):
    """What is not the same in training and in evaluation."""

    field: str
    """The field of `Rows`."""
    text: str
    """What differs, about the rows of evaluation."""
    site: Site | None = None
    """The place of the step that differs; None if it is no step."""


def differences(trained: Rows, evaluated: Rows) -> Iterator[Difference]:
    """Yield how rows of evaluation are prepared unlike those of training; nothing for what is unknown on either side.

    Random steps are for training alone.
    """
    theirs, ours = ({each.name: each for each in rows.preparations} for rows in (evaluated, trained))
    if trained.complete and evaluated.complete:
        for name, each in ours.items():
            if name not in theirs and not each.random:
                yield Difference("preparations", f"without `{name}`", each.site)
    for name, each in theirs.items():
        if each.random:
            yield Difference("preparations", f"changed at random by `{name}`", each.site)
        elif name not in ours and trained.complete:
            yield Difference("preparations", f"with `{name}`", each.site)
        elif name in ours and each.how != ours[name].how:
            yield Difference("preparations", f"`{name}` again, on other rows", each.site)
    if trained.sample and evaluated.sample and trained.sample != evaluated.sample:
        yield Difference("sample", f"{evaluated.sample} instead of {trained.sample}")
