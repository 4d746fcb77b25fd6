"""Loading: data loaders, their samplers and workers, and the batches that loops take from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace.events.event import NO_EVENTS, Event
from torch_doctor.trace.events.stretch import Stretch  # noqa: TC001 - msgspec reads it
from torch_doctor.trace.events.wording import in_brackets, quoted
from torch_doctor.trace.rows import Rows  # noqa: TC001 - msgspec reads it

if TYPE_CHECKING:
    from torch_doctor.trace.events.names import Names
    from torch_doctor.trace.site import Site
    from torch_doctor.trace.words import Tri


class LoaderBuilt(Event, frozen=True, kw_only=True):
    """A data loader is constructed."""

    loader: int
    """The loader."""
    name: str = ""
    """The class of the loader."""
    called: str = ""
    """The variable or attribute that it is first assigned to; "" if there is none."""
    dataset: int = 0
    """The dataset; 0 if unknown."""
    shuffle: Tri = None
    """Whether it shuffles, by an argument or by default."""
    explicit: bool = False
    """Whether the call passes `shuffle`."""
    sampled: Tri = None
    """Whether a sampler or batch sampler determines the order."""
    indexed: int = 0
    """The sampler that draws samples at the indices it is given; 0 if there is none."""
    draws_all: bool = False
    """Whether its sampler draws each sample of its dataset once in an epoch."""
    stretches: tuple[Stretch, ...] = ()
    """The stretches that the indices of its sampler are of. Only the static witness knows them."""
    meets: frozenset[int] = NO_EVENTS
    """The loaders built before it that draw some of the same samples of the same dataset. Only the probe knows them."""
    of: int | None = None
    """The number of samples in its dataset, or in the dataset of which that is a subset. Only the probe knows it."""
    drop_last: Tri = None
    """Whether it drops an incomplete last batch."""
    full: Tri = None
    """Whether one batch contains the complete dataset."""
    workers: int | None = None
    """The number of worker processes; None if unknown."""
    batch: int | None = None
    """The number of samples in a batch; 0 if the dataset creates the batches, None if unknown."""
    rows: int | None = None
    """The number of samples in an epoch; None if unknown."""
    batches: int | None = None
    """The number of batches in an epoch; None if unknown."""
    sampler: int = 0
    """The distributed sampler that shuffles its samples on at least one path; 0 if there is none."""
    pinned: Tri = None
    """Whether batches are in pinned memory; also None if a `collate_fn` may return something that cannot be pinned."""
    persistent: Tri = None
    """Whether the workers persist from epoch to epoch."""
    places: Tri = None
    """Whether its dataset or `collate_fn` mentions devices, so that batches may already be on one."""
    cores: int | None = None
    """The number of CPU cores that the process may use, in a probe run with a GPU; None otherwise."""
    beside: frozenset[int] = NO_EVENTS
    """The loaders that a `zip` combines it with; 0 stands for one that may be unresolved."""
    unseen: bool = False
    """Whether unresolved code provides its dataset, tensors or batch size, so that there may be any number of samples."""
    chosen: bool = False
    """Whether the batch size is the default of an option that the user can change."""
    orders: frozenset[int] = NO_EVENTS
    """The `Reordered` events that selected its samples."""
    scores: bool = False
    """Whether a framework was told to evaluate its samples."""
    filled_up: bool = False
    """Whether its last batches are filled up with other samples, so that each process gets as many."""

    def words(self, names: Names, /) -> str:
        order = {True: "shuffled", False: "in stored order", None: "order unknown"}[self.shuffle]
        traits = [
            "order set by a sampler" if self.sampled else order,
            *["incomplete batch dropped"] * bool(self.drop_last),
        ]
        over = f" over {names.thing(self.dataset)}" if self.dataset else ""
        return f"create a data loader{over}{in_brackets(traits)}"


class RowsGiven(Event, frozen=True, kw_only=True):
    """The rows that a loader reads, as far as the source shows. Only the static witness writes it."""

    loader: int
    """The loader."""
    rows: Rows
    """The rows of its data set."""

    def words(self, _: Names, /) -> str:
        known = [self.rows.selection, self.rows.order, *(each.name for each in self.rows.preparations)]
        return f"read rows of {self.rows.source or 'something'}{in_brackets(filter(None, known))}"


class RowMoved(Event, frozen=True, kw_only=True):
    """A dataset moves tensors to the GPU while a loader reads a sample, or a loader reads samples that are there."""

    class_name: str
    """The class of the dataset."""
    workers: int | None
    """The number of worker processes of the loader; None if unknown."""
    loader_site: Site | None = None
    """Where the loader is constructed."""
    times: int = 0
    """How often the probe observed it; 0 if not counted."""
    held: bool = False
    """Whether they are moved before a loader reads them."""

    def words(self, _: Names, /) -> str:
        if self.held:
            return f"read samples of {self.class_name or 'a dataset'} on the GPU in {self.workers} worker processes"
        return f"move samples of {self.class_name or 'a dataset'} to the GPU in {self.workers} worker processes"


class EpochSet(Event, frozen=True, kw_only=True):
    """`sampler.set_epoch(...)` is called, so that the next epoch has its own order."""

    sampler: int
    """The sampler; 0 if unknown."""

    def words(self, _: Names, /) -> str:
        return "set the epoch of a sampler"


class RowsDrawn(Event, frozen=True, kw_only=True):
    """An epoch of a distributed sampler starts. Only the probe writes it."""

    sampler: int
    """The sampler."""
    rows: tuple[int, ...]
    """The first indices that this process reads."""
    count: int
    """The number of indices that this process reads."""

    def words(self, _: Names, /) -> str:
        return f"a sampler yields {self.count} indices, starting with {', '.join(map(str, self.rows[:3]))}"


class BatchTaken(Event, frozen=True, kw_only=True):
    """A loop gets its next batch."""

    loader: int
    """The loader; 0 if unknown."""
    name: str
    """The expression that the loop iterates over."""
    handed_in: bool = False
    """Whether an unresolved caller passes the batch."""
    dtypes: tuple[str, ...] = ()
    """The dtypes of the tensors in it, in order. Only the probe knows them."""
    describing: int = 0
    """How many of the tensors are there for the tokens in it, such as their mask. Only the probe knows it."""

    def words(self, _: Names, /) -> str:
        return f"take a batch from {quoted(self.name)}"


class WorkersAlike(Event, frozen=True, kw_only=True):
    """All worker processes of a loader draw the same random numbers. `site` is where the source of these numbers is set."""

    loader: int
    """The loader."""
    loader_site: Site
    """Where the loader is constructed. It equals `site` if the cause is unknown."""
    workers: int
    """The number of worker processes."""
    cause: str
    """The reason; "" if the numbers were only observed.

    "generator": one that the dataset contains. "seed": a constant that a `worker_init_fn` passes in all workers. "numpy": the
    generator of NumPy, which torch seeds in each worker since 1.9.
    """
    name: str
    """The source text of the cause."""
    class_name: str
    """The class of the dataset."""
    drawn_at: Site
    """Where a sample draws random numbers."""

    def words(self, _: Names, /) -> str:
        return f"draw the same random numbers in each of {self.workers} workers"
