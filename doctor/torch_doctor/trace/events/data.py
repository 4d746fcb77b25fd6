"""Data: datasets, what puts their rows in order, the loaders that read them, and the batches they give."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace.events.event import NO_EVENTS, Event
from torch_doctor.trace.events.wording import in_brackets, quoted, short

if TYPE_CHECKING:
    from torch_doctor.trace.events.event import Trail
    from torch_doctor.trace.events.names import Names
    from torch_doctor.trace.events.stretch import Stretch
    from torch_doctor.trace.site import Site
    from torch_doctor.trace.words import Tri


class RowsTaken(Event, frozen=True, kw_only=True):
    """A stretch of rows, or of indices, was taken by a slice whose bounds are known."""

    stretch: Stretch

    def words(self, _: Names, /) -> str:
        start, stop = ("" if bound is None else bound for bound in (self.stretch.start, self.stretch.stop))
        return f"slice samples [{start}:{stop}]"


class RowsRead(Event, frozen=True, kw_only=True):
    """Rows were read, found in what was read, or changed: two values of which all the same is known are the same rows."""

    def words(self, _: Names, /) -> str:
        return "read, select or change samples"


class DatasetBuilt(Event, frozen=True, kw_only=True):
    """A dataset that a loader reads, told when its first loader is built; `site` is where it was made.

    `class_name` is the library's dotted name, the bare name for the project's, and "" for lists, arrays and tensors.
    `iterable`: it gives its rows in an order of its own, so that no loader can shuffle them. `shuffled`: its rows are in
    random order, or may be (they are noise, or its constructor drew random numbers); False only where they surely lie as
    they were stored. `parts` are the datasets that it takes its rows from: one for a subset, all of a concatenation.
    `rows` says which rows it reads: two datasets with the same text read the same; "" where that is not known. `augments`
    are the transforms that change a row at random each time it is read, each with its construction and its name. `computes`
    is False where a row is taken from memory as it lies there: the project's `__getitem__` calls nothing. `changes`: methods of
    the project's class set its attributes, so that it may be another one in the next epoch. `several`: it stands for
    several datasets of which nobody knows how many there are, as a comprehension makes them. `stretches` are the slices of rows
    that it was given, or of the indices of rows. `drawn`: it draws its rows, as its `__getitem__` does not use the index.
    `shares` are those that the probe told of before and that read some of
    its rows: by the indices of subsets, by the memory of their tensors, or by rows that are equal; `mostly` are those that
    share at least half of the rows of the smaller one, which has others, too.
    """

    dataset: int
    class_name: str = ""
    iterable: Tri = None
    shuffled: Tri = None
    parts: tuple[int, ...] = ()
    rows: str = ""
    augments: Trail = ()
    computes: Tri = None
    changes: Tri = None
    several: bool = False
    stretches: tuple[Stretch, ...] = ()
    drawn: bool = False
    shares: tuple[int, ...] = ()
    mostly: tuple[int, ...] = ()

    def words(self, _: Names, /) -> str:
        style = {True: "iterable", False: "map-style", None: ""}[self.iterable]
        order = {True: "samples in random order", False: "samples in stored order", None: ""}[self.shuffled]
        return f"read {short(self.class_name) or 'data'}{in_brackets(part for part in (style, order) if part)}"


class Reordered(Event, frozen=True, kw_only=True):
    """Something was put in random order, or drawn from at random: nobody knows whether rows of a dataset.

    `anew`: nothing that the call is given says which random numbers it gets, so that it draws others each time. `of` says
    which rows were chosen by it; "" where that is not known.
    """

    anew: bool = False
    of: str = ""

    def words(self, _: Names, /) -> str:
        return "shuffle something"


class LoaderBuilt(Event, frozen=True, kw_only=True):
    """A data loader was constructed over `dataset` (0 when it is not known which).

    `shuffle` and `drop_last` as they hold, given or by default; None when not known. `explicit`: the call itself gives
    `shuffle`. `sampled`: a sampler or batch sampler decides the order. `full`: one batch holds the whole dataset.
    `workers` is the number of worker processes and `batch` that of the rows in a batch (0: the dataset makes batches itself),
    None when not known. `rows` is how many rows there are for one pass and `batches` how many batches it gives, None when
    not known. `sampler` is the distributed sampler that shuffles its rows, on some path at least; 0 where there is none.
    `pinned`: batches are put into pinned memory (None too where a `collate_fn` makes something that perhaps cannot be).
    `persistent`: the workers live on from pass to pass. `places`: its dataset or what collates its rows speaks of devices, so
    that its batches may be on one already. `cores` is how many cores this process may use, where a run has a GPU; None else.
    `beside` are the loaders that a `zip` goes through together with it; 0 is one out of sight, perhaps. `unseen`: its dataset, the
    tensors in it or the size of its batches come from code out of sight, so that there may be any number of rows. `chosen`:
    that size is what an option is by default, and the user may choose another. `orders` are the `Reordered` events that have
    chosen its rows. `called` is the variable or attribute that it is assigned to first, "" where it goes elsewhere.
    """

    loader: int
    name: str = ""
    called: str = ""
    dataset: int = 0
    shuffle: Tri = None
    explicit: bool = False
    sampled: Tri = None
    drop_last: Tri = None
    full: Tri = None
    workers: int | None = None
    batch: int | None = None
    rows: int | None = None
    batches: int | None = None
    sampler: int = 0
    pinned: Tri = None
    persistent: Tri = None
    places: Tri = None
    cores: int | None = None
    beside: frozenset[int] = NO_EVENTS
    unseen: bool = False
    chosen: bool = False
    orders: frozenset[int] = NO_EVENTS

    def words(self, names: Names, /) -> str:
        order = {True: "shuffled", False: "in stored order", None: "order unknown"}[self.shuffle]
        traits = [
            "order set by a sampler" if self.sampled else order,
            *["incomplete batch dropped"] * bool(self.drop_last),
        ]
        over = f" over {names.thing(self.dataset)}" if self.dataset else ""
        return f"create a data loader{over}{in_brackets(traits)}"


class RowMoved(Event, frozen=True, kw_only=True):
    """The dataset of class `class_name` moves tensors to the GPU, at `site`, while it makes a row for a loader.

    `loader_site` is where that was constructed, with so many `workers` (None: not known). `times` is how often it was seen
    to happen (0: not counted).
    """

    class_name: str
    workers: int | None
    loader_site: Site | None = None
    times: int = 0

    def words(self, _: Names, /) -> str:
        return f"move samples of {self.class_name or 'a dataset'} to the GPU in {self.workers} worker processes"


class EpochSet(Event, frozen=True, kw_only=True):
    """`sampler.set_epoch(...)`: the next pass gets an order of its own; `sampler` is 0 where it is not known which."""

    sampler: int

    def words(self, _: Names, /) -> str:
        return "set the epoch of a sampler"


class RowsDrawn(Event, frozen=True, kw_only=True):
    """A pass over a distributed sampler began: `rows` are the first that this process is to read, `count` all of them.

    Only the probe writes it.
    """

    sampler: int
    rows: tuple[int, ...]
    count: int

    def words(self, _: Names, /) -> str:
        return f"a sampler yields {self.count} indices, starting with {', '.join(map(str, self.rows[:3]))}"


class BatchTaken(Event, frozen=True, kw_only=True):
    """A loop got its next batch from `loader` (0 when it is not known which); `handed_in`: callers out of sight gave it.

    `dtypes` are those of the tensors in it, in order; only the probe knows them.
    """

    loader: int
    name: str
    handed_in: bool = False
    dtypes: tuple[str, ...] = ()

    def words(self, _: Names, /) -> str:
        return f"take a batch from {quoted(self.name)}"


class Fitted(Event, frozen=True, kw_only=True):
    """Something was fitted on rows of which none were left out in sight: an estimator, or a statistic that normalises them.

    `function` is the estimator's dotted name, "statistic" for a mean, a maximum and the like. `name` is the user's text.
    """

    function: str
    name: str

    def words(self, _: Names, /) -> str:
        what = "a statistic" if self.function == "statistic" else short(self.function).rpartition(".")[2]
        return f"fit {what} on samples{in_brackets([self.name])}"


class RowsSplit(Event, frozen=True, kw_only=True):
    """Rows were split into parts, by the function `by` ("slices" where they were sliced on both sides of one bound).

    `fits` are the `Fitted` events that saw the rows of all parts, and whose result is in at least one of them.
    """

    by: str
    fits: frozenset[int] = NO_EVENTS

    def words(self, _: Names, /) -> str:
        return f"split samples with {self.by.rpartition('.')[2]}{in_brackets(['after a fit on all of them'] * bool(self.fits))}"


class MemoryChanged(Event, frozen=True, kw_only=True):
    """An array whose memory a tensor has was changed in place, and the tensor was used later: `site` is the change.

    `name` is the array in the user's words. `shared_at` is where the tensor was made of it, `used_at` the use. The probe,
    which does not see what numpy does, puts `shared_at` in the place of the change; `changed` counts how many of the
    `elements` that it looked at were others at the use.
    """

    name: str
    shared_at: Site
    used_at: Site
    changed: int = 0
    elements: int = 0

    def words(self, _: Names, /) -> str:
        return f"change {quoted(self.name)} in place; a tensor shares its memory"


class PixelsGiven(Event, frozen=True, kw_only=True):
    """The model `module`, `name`, was called with pictures in numbers from 0 to 255, and its first layer got them so.

    `documented`: it comes from a library that says that it takes other numbers. `read_at` is where the pictures were read,
    None where that is not known. `largest` is the largest number of the batch (0: not known). `shown`: its shape and its
    numbers show by themselves that the batch is pictures.
    """

    module: int
    name: str
    documented: bool = False
    read_at: Site | None = None
    largest: float = 0.0
    shown: bool = False

    def words(self, _: Names, /) -> str:
        return f"pass images with values from 0 to 255 to {quoted(self.name)}"


class WorkersAlike(Event, frozen=True, kw_only=True):
    """The worker processes of a loader draw the same random numbers for their rows; `site` is what makes them.

    `cause` is "generator" for one that the dataset, of class `class_name`, holds, "seed" for a constant that a
    `worker_init_fn` gives all of them, and "numpy" for NumPy's own, which torch seeds apart since 1.9; "" where only the
    rows were seen. `name` is the user's text of it, `drawn_at` where a row draws. The loader with so many `workers` was built
    at `loader_site`, which is `site` where the cause is not known.
    """

    loader: int
    loader_site: Site
    workers: int
    cause: str
    name: str
    class_name: str
    drawn_at: Site

    def words(self, _: Names, /) -> str:
        return f"draw the same random numbers in each of {self.workers} workers"


class PaddingRead(Event, frozen=True, kw_only=True):
    """A model, called `name`, got sequences that were padded at `padded_at`, and `reads` what lies behind their ends.

    `by` is the layer that does, at `read_at`. A run tells it from a copy: when the `positions` that are padding were others
    for its layers, its outputs for the sequences themselves changed, where they did most from `first` to `second`.
    `alone`: its only output is one for each sequence.
    """

    name: str
    reads: Tri
    by: str = ""
    read_at: Site | None = None
    padded_at: Site | None = None
    positions: int = 0
    first: float = 0.0
    second: float = 0.0
    alone: bool = False

    def words(self, _: Names, /) -> str:
        reads = "reads" if self.reads else "does not read"
        return f"{quoted(self.name)} {reads} the padding of sequences"
