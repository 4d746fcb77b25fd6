"""Scaling: what the pictures of a dataset are normalised by, and what the numbers in batches are like."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace.events.event import Event
from torch_doctor.trace.events.wording import short

if TYPE_CHECKING:
    from torch_doctor.trace.events.names import Names
    from torch_doctor.trace.site import Site


class RowsScaled(Event, frozen=True, kw_only=True):
    """A loader reads pictures of `dataset`, an object of the class `source`, all of whose transforms are known.

    `converted` are those that make a tensor of a picture. They normalise it at `normalised_at` by `mean` and `std`, which are
    empty where they are not known; None: they do not.
    """

    dataset: int
    source: str
    converted: tuple[str, ...] = ()
    normalised_at: Site | None = None
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()

    def words(self, _: Names, /) -> str:
        how = f"with mean {list(self.mean)} and std {list(self.std)}" if self.mean else "with unknown mean and std"
        return f"images of {short(self.source)} are {f'normalized {how}' if self.normalised_at else 'not normalized'}"


class PreparerBuilt(Event, frozen=True, kw_only=True):
    """Something that prepares rows is there, called `name`: of two of one `sort`, those that are `how` alike prepare them alike.

    `sort` is `FITTED` for what was fitted on some rows just now, and `TOKENS` for a tokenizer that was loaded.
    """

    sort: str
    name: str
    how: str

    def words(self, _: Names, /) -> str:
        return f"samples may be preprocessed by {self.name} ({self.sort})"


class InputPrepared(Event, frozen=True, kw_only=True):
    """What the forward number `forward` gets was prepared at `prepared_at`, in `how` a way of this `sort`, by `name` if it has one.

    Of two ways of one sort, one is not the other; an input may have been prepared in several, with `WAYS` between them. What was
    prepared in one that is not known has no event.
    `loader` is the one that gave it, 0 where there is none.
    """

    forward: int
    sort: str
    how: str
    prepared_at: Site
    loader: int = 0
    name: str = ""

    def words(self, _: Names, /) -> str:
        return f"a model gets preprocessed input: {self.sort} {self.name or self.how}"


WAYS = "; "
"""Stands between several ways in which one input was prepared."""
CHANNELS = "channels"
"""The sort of the order in which the channels of pictures come: RGB or BGR."""
FITTED = "fitted"
"""The sort of what an estimator, or a statistic, of such a name makes of rows: by the rows that it was fitted on."""
TOKENS = "tokens"
"""The sort of what tokenizers make of texts: by their vocabularies, and whether they keep capital letters."""


class BatchReworked(Event, frozen=True, kw_only=True):
    """Something is computed of what `loader` gave before a model got it, the first time that this may be so."""

    loader: int

    def words(self, _: Names, /) -> str:
        return "compute something from a batch"


class BatchMeasured(Event, frozen=True, kw_only=True):
    """The first tensor of numbers with a fraction in a batch of `loader` has this mean and standard deviation.

    `channels` are the means of the three channels of a batch of pictures. Only the probe writes it, of the first batches.
    """

    loader: int
    mean: float
    std: float
    channels: tuple[float, ...] = ()

    def words(self, _: Names, /) -> str:
        return f"a batch with the mean {self.mean:.4g} and the standard deviation {self.std:.4g}"
