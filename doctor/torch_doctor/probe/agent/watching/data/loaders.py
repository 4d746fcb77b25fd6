"""Data loaders: how they are built, and every batch that is taken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ...rehearsal import rehearsals
from ..instrument_hooks import InstrumentHooks
from ..marks import NOTHING, Mark
from ..naming import class_name
from . import figures

if TYPE_CHECKING:
    from ..watch import Watch
    from .given_rows import GivenRows

PARAMETERS = ("dataset", "batch_size", "shuffle", "sampler", "batch_sampler", "num_workers", "collate_fn", "pin_memory")
"""The first parameters of `DataLoader`, in order."""
ROWS = 256  # of a pass over a sampler that are told
MOST_TENSORS = 8  # of a batch whose dtypes are told
PASSES = 8  # over one sampler that are told of
TOKENS = frozenset(("attention_mask", "token_type_ids", "position_ids", "decoder_input_ids", "decoder_attention_mask"))
"""What models of transformers take beside tokens, https://huggingface.co/docs/transformers/glossary."""


class Watcher:
    """Wraps the constructor and the iterators of `DataLoader`."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._recorder = watch.recorder
        self.known: dict[int, tuple[str, int, int]] = {}
        self.latest: list[Any] = []  # the tensors of the last batch
        self.given: GivenRows | None = None  # what a trainer builds a loader over
        self._drawing_at: list[
            tuple[int, int, frozenset[int]]
        ] = []  # loaders, their datasets, and the indices they draw at

    def install(self) -> None:
        """Puts the wrappers in place."""
        torch, data = self._watch.torch, self._watch.torch.utils.data
        self._watch.patches.replace(data.DataLoader, "__init__", self._building)
        self._watch.patches.replace(data.DataLoader, "__iter__", self._starting)
        self._watch.patches.replace(data.dataloader._BaseDataLoaderIter, "__next__", self._taking)
        self._watch.patches.replace(data.distributed.DistributedSampler, "set_epoch", self._telling)
        self._watch.patches.replace(data.distributed.DistributedSampler, "__iter__", self._drawing_rows)
        self._watch.patches.replace(type(torch.autograd.Variable), "__call__", self._wrapping)

    # --- building ---

    def _building(self, original: Any) -> Any:
        recorder, built = self._recorder, self._built

        def __init__(self: Any, *arguments: Any, **keywords: Any) -> None:  # noqa: N807
            original(self, *arguments, **keywords)
            if not recorder.quiet:
                given = dict(zip(PARAMETERS, arguments), **keywords)  # noqa: B905 - the others go by name
                recorder.safely(built, self, given)

        return __init__

    def _built(self, loader: Any, given: dict[str, Any]) -> None:
        recorder = self._recorder
        here = recorder.here()
        if here.frame is None:
            return
        data = self._watch.torch.utils.data
        sampler = getattr(loader, "sampler", None)
        shuffle: bool | None = None
        if isinstance(sampler, (data.RandomSampler, data.WeightedRandomSampler, data.SubsetRandomSampler)):
            shuffle = True
        elif isinstance(sampler, data.SequentialSampler):
            shuffle = False
        elif isinstance(sampler, data.distributed.DistributedSampler):
            shuffle = bool(sampler.shuffle)
        number = self._watch.datasets.tell(getattr(loader, "dataset", None))
        built, rows = recorder.references.number(loader), self.given
        whole = rows is not None and rows.in_full(sampler, loader.dataset)
        workers = figures.asked(given, "num_workers", int(getattr(loader, "num_workers", 0)))
        forked = 0 if given.get("multiprocessing_context") is not None else workers
        self.known[built] = (class_name(type(getattr(loader, "dataset", None)), recorder), forked, here.site)
        event = recorder.event(
            "LoaderBuilt",
            here,
            site=None if rows is None else rows.site,
            loader=built,
            called="" if rows is None else rows.called,
            name=class_name(type(loader), recorder),
            dataset=number,
            shuffle=shuffle,
            explicit=bool(recorder.argument(here.site, PARAMETERS.index("shuffle"), "shuffle")),
            sampled=not whole and (given.get("sampler") is not None or given.get("batch_sampler") is not None),
            scores=rows is not None and rows.scores,
            indexed=recorder.references.number(sampler) if isinstance(sampler, data.SubsetRandomSampler) else 0,
            draws_all=figures.draws_all(loader, sampler, data),
            meets=self._meets(built, number, figures.indices_of(sampler, data)),
            drop_last=bool(getattr(loader, "drop_last", False)) if rows is None or rows.meant else None,
            full=figures.full(loader),
            batch=figures.batch(loader),
            rows=figures.length_of("sampler", loader, data),
            of=figures.of(loader, data),
            workers=workers,
            batches=figures.length_of("", loader, data),
            sampler=self._distributed(loader),
            pinned=self._pinned(loader, given),
            persistent=bool(given.get("persistent_workers", getattr(loader, "persistent_workers", False))),
            places=figures.speaks_of_devices(getattr(loader, "dataset", None), getattr(loader, "collate_fn", None)),
            cores=figures.cores() if self._watch.torch.cuda.is_available() else None,
        )
        setup = given.get("worker_init_fn", getattr(loader, "worker_init_fn", None))
        self._watch.tell(InstrumentHooks.on_loader, loader, workers, setup, event, here.site)

    def _meets(self, loader: int, dataset: int, indices: frozenset[int]) -> tuple[int, ...]:
        """The loaders before this one that draw some of the same samples of the same dataset."""
        met = [other for other, of, drawn in self._drawing_at if of == dataset and drawn & indices]
        if indices:
            self._drawing_at.append((loader, dataset, indices))
        return tuple(met)

    def _pinned(self, loader: Any, given: dict[str, Any]) -> bool | None:
        """Whether the script asks for pinned memory; None where batches are of its own making, and it does not."""
        asked = bool(given.get("pin_memory", getattr(loader, "pin_memory", False)))
        return None if not asked and given.get("collate_fn") is not None else asked

    def _distributed(self, loader: Any) -> int:
        """The number of the distributed sampler that shuffles its rows."""
        kind = self._watch.torch.utils.data.distributed.DistributedSampler
        for sampler in (getattr(loader, "sampler", None), getattr(loader.batch_sampler, "sampler", None)):
            if isinstance(sampler, kind) and sampler.shuffle:
                number: int = self._recorder.references.number(sampler)
                return number
        return 0

    def _telling(self, original: Any) -> Any:
        recorder = self._recorder

        def set_epoch(self: Any, *arguments: Any, **keywords: Any) -> Any:
            if not recorder.quiet:
                recorder.safely(told, self)
            return original(self, *arguments, **keywords)

        def told(sampler: Any) -> None:
            recorder.event("EpochSet", recorder.here(), sampler=recorder.references.number(sampler))

        return set_epoch

    def _drawing_rows(self, original: Any) -> Any:
        recorder = self._recorder
        passes: Counter[int] = Counter()

        def __iter__(self: Any) -> Any:  # noqa: N807
            rows = original(self)
            if recorder.quiet:
                return rows
            rows = list(rows)
            recorder.safely(told, self, rows)
            return iter(rows)

        def told(sampler: Any, rows: list[Any]) -> None:
            number = recorder.references.number(sampler)
            passes[number] += 1
            if passes[number] <= PASSES and all(isinstance(row, int) for row in rows[:ROWS]):
                recorder.event("RowsDrawn", recorder.here(), sampler=number, rows=rows[:ROWS], count=len(rows))

        return __iter__

    # --- taking ---

    def _starting(self, original: Any) -> Any:
        references = self._recorder.references

        def __iter__(self: Any) -> Any:  # noqa: N807
            iterator = original(self)
            with suppress(AttributeError):
                iterator._torch_doctor_loader = references.number(self)
            return iterator

        return __iter__

    def _taking(self, original: Any) -> Any:
        recorder, taken, watch, known = self._recorder, self._taken, self._watch, self.known

        def __next__(self: Any) -> Any:  # noqa: N807
            watch.fetching = known.get(getattr(self, "_torch_doctor_loader", 0))
            try:
                batch = original(self)
            finally:
                watch.fetching = None
            if not recorder.quiet and not recorder.inside and not recorder.rests():
                recorder.safely(taken, self, batch)
            elif rehearsals.under_way and not recorder.inside:
                watch.loaders.latest = list(watch.marks.tensors(batch))
            return batch

        return __next__

    def _taken(self, iterator: Any, batch: Any) -> None:
        recorder = self._recorder
        frame = recorder.frame()
        if frame is None:
            return
        loop = self._watch.loops.in_header(frame)
        if loop is not None:
            loop.batches = True
        here = recorder.here()
        number = getattr(iterator, "_torch_doctor_loader", 0)
        self._watch.gradients.look(here)
        marks = self._watch.marks
        dtypes = []
        self.latest = list(marks.tensors(batch))
        for tensor in self.latest:
            marks.put(tensor, Mark(source="loader", loader=number))
            dtypes.append(str(tensor.dtype).rpartition(".")[2])
        site, name = here.site, ""
        if loop is not None and loop.node.over is not None:
            site, name = recorder.sites.number(loop.node.over), loop.node.text
        event = recorder.event(
            "BatchTaken",
            here,
            site=site,
            loader=number,
            name=name,
            dtypes=dtypes[:MOST_TENSORS],
            describing=len(TOKENS.intersection(batch)) if isinstance(batch, Mapping) else 0,
        )
        self._watch.tell(InstrumentHooks.on_batch, batch, here, event)

    # --- Variables ---

    def _wrapping(self, original: Any) -> Any:
        """`Variable(x)`, which is a new tensor of what `x` holds: what is known of `x` holds for it."""
        marks, tensors, safely = self._watch.marks, self._watch.torch.Tensor, self._recorder.safely

        def __call__(cls: Any, *arguments: Any, **keywords: Any) -> Any:  # noqa: N807
            made = original(cls, *arguments, **keywords)
            if arguments and isinstance(arguments[0], tensors) and made is not arguments[0]:
                safely(told, arguments[0], made)
            return made

        def told(given: Any, made: Any) -> None:
            mark = marks.of(given)
            if mark is not NOTHING:
                marks.put(made, mark)

        return __call__
