"""Encodings of positions that are added to sequences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace.events.event import Event
from torch_doctor.trace.events.wording import quoted, short

if TYPE_CHECKING:
    from torch_doctor.trace.events.names import Names
    from torch_doctor.trace.site import Site


class PositionsAdded(Event, frozen=True, kw_only=True):
    """A row of a table is added to each place of dimension 0, the same one along dimension 1; `site` is the addition."""

    name: str
    """The expression of what is added."""
    shape: tuple[int | str | None, ...]
    """The shape of what it is added to."""
    over_batch: bool
    """Whether dimension 0 has the samples of a batch, so that all steps of a sample get the same row."""
    taken_at: Site | None = None
    """Where the rows are taken from the table."""

    def words(self, _: Names, /) -> str:
        sizes = ", ".join("?" if size is None else str(size) for size in self.shape)
        along = "the samples" if self.over_batch else "dimension 0"
        return f"{quoted(short(self.name))} numbers {along} of [{sizes}]"
