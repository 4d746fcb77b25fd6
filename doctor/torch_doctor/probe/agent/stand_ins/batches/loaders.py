"""Loaders whose data cannot be read: they give the batches that the loop wants."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from ...rehearsal import rehearsals
from .. import told
from ..cuda.devices import needed
from ..stand_in import StandIn
from .cutting import SHORTEST, cut, sides, thinned
from .datasets import VOIDS, FailedDatasets, unreadable
from .finding import BatchFinder
from .making import described, made
from .rehearsing import RehearsedPass
from .wanted import Wanted

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..stand_in import Setting

BATCH = 8  # rows where the loader has no size for its batches
FEW, MANY = 2, 16  # rows of the smallest batch, and of one that is made up unless the script asks for all
STEP, SLOW = 3, 5.0  # forwards that a step takes, and seconds that it may take
TOO_LONG = 30.0  # seconds of a rehearsal that came to no end
TOO_SLOW = "too slow on the CPU"
LONG, SHORT = 2.0, 1.0  # seconds that a forward may take, and those of one with fewer rows


class WantedBatches(StandIn):
    """Gives batches that fit where a dataset fails because its data is not there, or is made up and does not do."""

    replaces = "the data cannot be read"
    voids = VOIDS
    installed_after = ("LoaderWorkers", "SmallBatches")

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self._datasets = FailedDatasets(self.sources, self.teller)
        self._learnt: dict[int, tuple[Any, Any]] = {}  # by the sampler that the iterators of one loader share
        self._of_class: dict[str, list[Any]] = {}
        self._looked: set[int] = set()
        self._most: dict[int, int] = {}
        self._times: dict[int, tuple[tuple[int, int], int]] = {}

    def with_torch(self, torch: Any) -> None:
        """Patches what fetches the rows of a batch, and the datasets that the user's code defines."""
        self._torch = torch
        self._generator = torch.Generator().manual_seed(0)
        self._datasets.install(torch)
        iterator: Any = torch.utils.data.dataloader._SingleProcessDataLoaderIter
        iterator._next_data = self._fetching(iterator._next_data)

    def _fetching(self, fetch: Callable[[Any], Any]) -> Any:
        @functools.wraps(fetch)
        def fetched(iterator: Any) -> Any:
            sampler = iterator._index_sampler
            if RehearsedPass.current is not None:
                return self._rehearsed(iterator, fetch)
            if id(sampler) in self._learnt:
                iterator._next_index()
                return self._batch(self._learnt[id(sampler)][1], sampler)
            try:
                batch = fetch(iterator)
            except StopIteration:
                raise
            except Exception as error:
                failure = self._datasets.failure(iterator._dataset)
                if failure is None and not self._datasets.is_no_data(error):
                    raise
                return self._instead(iterator, failure or error)
            return self._if_it_does(iterator, batch)

        return fetched

    def _if_it_does(self, iterator: Any, batch: Any) -> Any:
        """A batch that was made up where it was read; whether the first fits, and how long it takes, is tried with few rows."""
        sampler = iterator._index_sampler
        if told.VALUES in self.teller.voided and id(sampler) not in self._looked:
            self._looked.add(id(sampler))
            few = cut(batch, _size(sampler), FEW, self._torch) if self._may_cut(iterator) else batch
            smaller = self._thinned(iterator, few, batch)
            if smaller is not None:
                return smaller
            if few is not batch or told.FILES in self.teller.voided:
                return self._tried(iterator, batch, few)
        return self._cut(iterator, batch)

    def _thinned(self, iterator: Any, few: Any, batch: Any) -> Any:
        """The batch with smaller pictures, where a pass takes these, and a few of those that there are would take it long.

        None where they stay as they are.
        """
        of = sides(few, self._torch) if needed(self._torch, self.plan) else None
        if of is None:
            return None
        times = min(of) // SHORTEST
        answer = self._rehearse(iterator, None)
        if answer is rehearsals:
            return thinned(few, of, times, self._torch)
        if not answer or "failed" in answer or STEP * answer["seconds"] * times**2 < SLOW:
            return None
        rows = _size(iterator._index_sampler)
        self._times[id(iterator._index_sampler)] = of, times
        most = int(FEW * SLOW / (STEP * answer["seconds"]))
        if few is not batch and most < rows:
            self._most[id(iterator._index_sampler)] = max(FEW, most)
        how = f"one of {times}×{times} pixels"
        self.tell(f"images of {of[0]}×{of[1]} pixels", how, why=TOO_SLOW, voids=(told.VALUES, told.SHAPES))
        return self._cut(iterator, batch)

    def _tried(self, iterator: Any, batch: Any, few: Any) -> Any:
        """The first batch, or what fits instead."""
        answer = self._rehearse(iterator, None)
        if answer is rehearsals:
            return few
        if answer and "failed" in answer:
            return self._another(iterator, batch, answer["failed"])
        rows = _size(iterator._index_sampler)
        if few is not batch and answer and STEP * answer["seconds"] * rows / FEW > SLOW:
            more = cut(batch, rows, MANY, self._torch)
            longer = self._rehearse(iterator, None)
            if longer is rehearsals:
                return more
            self._limit(iterator, rows, answer["seconds"], longer)
        return self._cut(iterator, batch)

    def _limit(self, iterator: Any, rows: int, seconds: float, longer: Any) -> None:
        """Cuts the batches from now on, where it is their rows that take long, by how long a pass with few and many took."""
        a_row = ((longer["seconds"] if longer and "seconds" in longer else TOO_LONG) - seconds) / (MANY - FEW)
        if a_row <= 0 or STEP * a_row * rows < SLOW or a_row * rows < seconds:
            return
        self._most[id(iterator._index_sampler)] = most = max(FEW, int(SLOW / (STEP * a_row)))
        how = f"batches of {most}"
        self.tell(f"batches of {rows} samples", how, why=TOO_SLOW, voids=[told.VALUES])

    def _another(self, iterator: Any, batch: Any, failure: str) -> Any:
        """What fits instead of a batch that does not; the batch itself where nothing does, or its files were there."""
        if told.FILES not in self.teller.voided:
            return batch
        try:
            return self._instead(iterator, ValueError(failure))
        except ValueError:
            return batch

    def _may_cut(self, iterator: Any) -> bool:
        """Whether a pass takes batches with fewer rows, as the last one of its loader is, and a GPU was to compute them."""
        return not getattr(iterator, "_drop_last", True) and needed(self._torch, self.plan)

    def _cut(self, iterator: Any, batch: Any) -> Any:
        sampler = iterator._index_sampler
        most, thin = self._most.get(id(sampler)), self._times.get(id(sampler))
        batch = batch if thin is None else thinned(batch, *thin, self._torch)
        return batch if most is None else cut(batch, _size(sampler), most, self._torch)

    def _instead(self, iterator: Any, error: BaseException) -> Any:
        """The batch that the loop takes: one that it takes of another loader, or what a rehearsal finds.

        Raises:
            error: none was found; it is why there is no batch.
        """
        sampler, name = iterator._index_sampler, type(iterator._dataset).__name__
        for learnt in self._of_class.get(name, ()):
            answer = self._rehearse(iterator, None)
            if answer is rehearsals:
                return self._batch(learnt, sampler)
            if answer and "failed" not in answer:
                break
        else:
            learnt = self._found(iterator)
            if learnt is rehearsals:
                return Wanted(RehearsedPass.current.finder.batch)  # type: ignore[union-attr]
            if not learnt or "failed" in learnt:
                why = learnt["failed"] if learnt else "it did not finish in time"
                self.teller.note(f"no synthetic batch of {name} fits the loop ({why})")
                raise error
            self._of_class.setdefault(name, []).append(learnt)
        self._learnt[id(sampler)] = (sampler, learnt)
        how = f"batches that fit the loop ({described(learnt)})"
        self.tell(f"batches of {name}", how, why=unreadable(error))
        return self._batch(learnt, sampler)

    def _found(self, iterator: Any) -> Any:
        """What rehearsals find out, with few rows if the pass takes them, and with fewer where a forward takes long."""
        whole = _size(iterator._index_sampler)
        many = FEW if "time" in self.learnt.kinds() else MANY
        for rows in dict.fromkeys((min(whole, many), whole)):
            learnt = self._rehearse(iterator, BatchFinder(self._torch, self.sources, rows))
            if learnt is rehearsals or (learnt and "failed" not in learnt):
                break
        if learnt is rehearsals or not learnt or learnt.get("seconds", 0) < LONG or rows <= FEW:
            return learnt
        few = max(FEW, int(rows * SHORT / learnt["seconds"]))
        fewer = self._rehearse(iterator, BatchFinder(self._torch, self.sources, few))
        if fewer is rehearsals or (fewer and "failed" not in fewer):
            return fewer
        return learnt

    def _batch(self, learnt: Any, sampler: Any) -> Any:
        return made(learnt, self._torch, self._generator, _size(sampler))

    # --- rehearsals ---

    def _rehearse(self, iterator: Any, finder: BatchFinder | None) -> Any:
        """What a rehearsal has learnt; in it, `rehearsals`."""
        return RehearsedPass.rehearse(RehearsedPass(self._torch, iterator, finder))

    def _rehearsed(self, iterator: Any, fetch: Callable[[Any], Any]) -> Any:
        """What a loader gives in a rehearsal; a second batch of the one that is rehearsed is the end."""
        passing: Any = RehearsedPass.current
        if iterator is passing.iterator or (passing.came_through and passing.iterator is None):
            passing.end()
        sampler = iterator._index_sampler
        if id(sampler) in self._learnt:
            iterator._next_index()
            return self._batch(self._learnt[id(sampler)][1], sampler)
        try:
            return fetch(iterator)
        except StopIteration:
            raise
        except Exception:
            if passing.is_there:
                raise
            return Wanted(passing.finder.another())  # of a loader that has no data either


def _size(sampler: Any) -> int:
    size = getattr(sampler, "batch_size", None)
    return size if isinstance(size, int) else BATCH
