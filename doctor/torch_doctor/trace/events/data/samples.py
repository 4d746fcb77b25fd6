"""Samples: datasets, their order, splits and statistics, and samples that models get wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.trace.events.event import NO_EVENTS, Event
from torch_doctor.trace.events.wording import in_brackets, quoted, short

if TYPE_CHECKING:
    from torch_doctor.trace.events.event import Trail
    from torch_doctor.trace.events.names import Names
    from torch_doctor.trace.events.stretch import Stretch
    from torch_doctor.trace.site import Site
    from torch_doctor.trace.words import Tri


class RowsTaken(Event, frozen=True, kw_only=True):
    """A slice with known bounds selects samples, or indices of samples."""

    stretch: Stretch
    """The samples that it selects."""

    def words(self, _: Names, /) -> str:
        start, stop = ("" if bound is None else bound for bound in (self.stretch.start, self.stretch.stop))
        return f"slice samples [{start}:{stop}]"


class RowsRead(Event, frozen=True, kw_only=True):
    """Samples are read, selected or changed. Two values of which the same is known are the same samples."""

    def words(self, _: Names, /) -> str:
        return "read, select or change samples"


class DatasetBuilt(Event, frozen=True, kw_only=True):
    """A dataset that a loader reads. It is reported with its first loader; `site` is where the dataset is constructed."""

    dataset: int
    """The dataset."""
    class_name: str = ""
    """The dotted name of a library class, the bare name of a project class, "" for lists, arrays and tensors."""
    iterable: Tri = None
    """Whether it yields samples in its own order, so that no loader can shuffle them."""
    shuffled: Tri = None
    """Whether its samples are or may be in random order; False only if they are certainly in stored order."""
    parts: tuple[int, ...] = ()
    """The datasets that it reads: one for a subset, several for a concatenation."""
    rows: str = ""
    """A text that is equal for datasets that read the same samples; "" if unknown."""
    augments: Trail = ()
    """The transforms that change a sample at random each time it is read: their construction and name."""
    computes: Tri = None
    """False if the `__getitem__` of the project calls nothing and returns what is in memory."""
    changes: Tri = None
    """Whether methods of the project's class set its attributes, so that the next epoch may differ."""
    several: bool = False
    """Whether it represents an unknown number of datasets, such as those of a comprehension."""
    stretches: tuple[Stretch, ...] = ()
    """The slices of samples, or of indices, that it is created from."""
    splits: frozenset[int] = NO_EVENTS
    """The `RowsSplit` events that its samples are a part of. Only the static witness knows them."""
    windows: Site | None = None
    """Where its `__getitem__` cuts windows that overlap; None if it does not, as far as it is known."""
    classes: frozenset[int] = NO_EVENTS
    """The `PreparerBuilt` events by which its classes are numbered. Only the static witness knows them."""
    numbers: tuple[tuple[str, int], ...] = ()
    """The names of its classes with their numbers, if an attribute maps them. Only the probe knows them."""
    drawn: bool = False
    """Whether its `__getitem__` ignores the index and draws samples."""
    views: bool = False
    """Whether its samples consist of several random views of one sample, which a model compares."""
    decides: bool = False
    """Whether its `__getitem__` decides by what the index is a member of, or by an item at the index."""
    shares: tuple[int, ...] = ()
    """Earlier datasets with some of the same samples, by index, memory or value. Only the probe knows them."""
    copies: tuple[int, ...] = ()
    """Earlier datasets with samples that equal some of its own. Only the probe knows them."""
    mostly: tuple[int, ...] = ()
    """Those of `shares` that contain at least half of the samples of the smaller dataset, which also has others."""

    def words(self, _: Names, /) -> str:
        style = {True: "iterable", False: "map-style", None: ""}[self.iterable]
        order = {True: "samples in random order", False: "samples in stored order", None: ""}[self.shuffled]
        return f"read {short(self.class_name) or 'data'}{in_brackets(part for part in (style, order) if part)}"


class Reordered(Event, frozen=True, kw_only=True):
    """Something is shuffled or sampled at random. It need not be the samples of a dataset."""

    anew: bool = False
    """Whether no argument fixes the random numbers, so that each call draws others."""
    of: str = ""
    """The samples that it selects, as in `DatasetBuilt.rows`; "" if unknown."""
    seed: str = ""
    """The number that an argument seeds the random numbers with; "" if there is none, or if it is unknown."""

    def words(self, _: Names, /) -> str:
        return "shuffle something"


class Fitted(Event, frozen=True, kw_only=True):
    """An estimator or a statistic is computed from samples of which none are visibly left out."""

    function: str
    """The dotted name of the estimator; "statistic" for a mean, a maximum and the like."""
    name: str
    """The source text."""

    def words(self, _: Names, /) -> str:
        what = "a statistic" if self.function == "statistic" else short(self.function).rpartition(".")[2]
        return f"fit {what} on samples{in_brackets([self.name])}"


class RowsSplit(Event, frozen=True, kw_only=True):
    """Samples are split into parts."""

    by: str
    """The function that splits them; "slices" for slices on both sides of the same bound."""
    fits: frozenset[int] = NO_EVENTS
    """The `Fitted` events that used the samples of all parts, and whose result is in at least one part."""
    copied: bool = False
    """Whether some of the samples were copied before, so that equal samples may be in several parts."""
    altered: bool = False
    """Whether the copies were changed by noise, by a factor or by turning them round."""
    orders: frozenset[int] = NO_EVENTS
    """The `Reordered` events that draw the parts at random; none for parts in stored order."""
    windows: Site | None = None
    """Where the samples were cut as overlapping windows; None if they were not, as far as it is known."""
    grouped_at: Site | None = None
    """Where parts of the same samples are split by groups, after a split at random; None if they are not."""

    def words(self, _: Names, /) -> str:
        return f"split samples with {self.by.rpartition('.')[2]}{in_brackets(self._before())}"

    def _before(self) -> list[str]:
        found = {
            "after a fit on all of them": self.fits,
            "with copies among them": self.copied,
            "with altered copies among them": self.altered,
            "of overlapping windows": self.windows,
            "without their groups": self.grouped_at,
        }
        return [text for text, holds in found.items() if holds]


class WindowsCut(Event, frozen=True, kw_only=True):
    """A series is cut into windows that overlap: each starts before the one before it ends."""

    def words(self, _: Names, /) -> str:
        return "cut overlapping windows"


class SamplesShared(Event, frozen=True, kw_only=True):
    """Samples of two loaders have something in common. Only the probe writes it, at the end of the run."""

    loader: int
    """The loader."""
    other: int
    """The other loader."""
    how: str
    """What they have in common: "windows" for consecutive numbers, "copies" for the row of which they are altered copies."""
    samples: int
    """The number of samples of the loader that were compared."""
    shared: int
    """The number of those that have this in common with a sample of the other loader."""

    def words(self, _: Names, /) -> str:
        what = "consecutive numbers with" if self.how == "windows" else "the source row of"
        return f"{self.shared} of {self.samples} samples share {what} samples of another loader"


class MemoryChanged(Event, frozen=True, kw_only=True):
    """An array that shares its memory with a tensor is changed in place, and the tensor is used later."""

    name: str
    """The expression for the array."""
    shared_at: Site
    """Where the tensor is created from the array. The probe, which does not see NumPy, also reports it as `site`."""
    used_at: Site
    """Where the tensor is used."""
    changed: int = 0
    """The number of elements that differ at the use. Only the probe counts them."""
    elements: int = 0
    """The number of elements that the probe compared."""

    def words(self, _: Names, /) -> str:
        return f"change {quoted(self.name)} in place; a tensor shares its memory"


class StoredRowChanged(Event, frozen=True, kw_only=True):
    """A dataset changes a sample that it stores, in place, each time that it returns it."""

    name: str
    """The expression for the sample."""
    class_name: str
    """The class of the dataset."""
    loader: int
    """The loader that reads the dataset."""
    changed: bool = True
    """Whether it does. The probe, which reports the loader as `site`, also writes the event if it does not."""

    def words(self, _: Names, /) -> str:
        if not self.changed:
            return f"samples that {self.class_name} stores are the same after they are read"
        return f"change {quoted(self.name or '?')}, a stored sample of {self.class_name}, in place"


class PixelsGiven(Event, frozen=True, kw_only=True):
    """A model is called with images whose values range from 0 to 255, and its first layer gets them unscaled."""

    module: int
    """The model."""
    name: str
    """The name of the model in the script."""
    documented: bool = False
    """Whether a library that documents another range provides the model."""
    read_at: Site | None = None
    """Where the images are read; None if unknown."""
    largest: float = 0.0
    """The largest value of the batch; 0 if unknown."""
    shown: bool = False
    """Whether the shape and the values of the batch alone show that it contains images."""

    def words(self, _: Names, /) -> str:
        return f"pass images with values from 0 to 255 to {quoted(self.name)}"


ENCODER: Final = "encoder"
"""What reads padding in a pretrained model that gets no `attention_mask`, in `PaddingRead`."""


MEAN: Final = "mean"
"""What reads padding where steps are averaged, in `PaddingRead`."""


class PaddingRead(Event, frozen=True, kw_only=True):
    """A model gets padded sequences. The probe compares its output with that for other values in the padding."""

    name: str
    """The name of the model in the script."""
    reads: Tri
    """Whether the output depends on the padding."""
    by: str = ""
    """The layer that reads the padding, `ENCODER` or `MEAN`."""
    read_at: Site | None = None
    """Where this layer is called."""
    padded_at: Site | None = None
    """Where the sequences are padded."""
    positions: int = 0
    """The number of padded positions that the probe changed."""
    first: float = 0.0
    """The output with the largest change, before the change."""
    second: float = 0.0
    """The same output after the change."""
    alone: bool = False
    """Whether the model has a single output for each sequence."""

    def words(self, _: Names, /) -> str:
        reads = "may read" if self.reads is None else "reads" if self.reads else "does not read"
        return f"{quoted(self.name)} {reads} the padding of sequences"
