"""Which samples of two loaders read the same row or file, where data sets that read it were put one behind the other."""

from __future__ import annotations

import builtins
import copy
import itertools
import sys
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from ..chance import undisturbed
from .consuming import consumes
from .stored_samples import small_copy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ...watching.watch import Watch

ASKED = 24  # samples of a loader whose sources are looked for
SECONDS = 1.0  # that this may take for a pair of loaders
DEEPEST = 4  # data sets within data sets
OPENERS = (("PIL.Image", "open"), ("cv2", "imread"), ("torchvision.io", "read_image"))

Place = tuple[int, int]  # which of the data sets that were put one behind the other, and the number of its row


class Readings:
    """Reads samples of a part that another part has at the same place, and compares what both read for it."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._told: dict[int, tuple[Any, list[Place]]] = {}
        self.found: dict[
            tuple[int, int], tuple[int, int]
        ] = {}  # of two loaders: samples, and those that share their source

    def told(self, loader: int, dataset: Any) -> None:
        """A loader was built over a data set."""
        whole, places = self._within(dataset)
        if not places or consumes(self._watch.torch, dataset):
            return
        with self._watch.unwatched(), undisturbed(self._watch.torch):
            for other, (its_whole, known) in self._told.items():
                if its_whole is whole and self._watch.questions.left() > 0:
                    for pair, own, others in (((loader, other), places, known), ((other, loader), known, places)):
                        self.found[pair] = self._compared(whole, own, set(others))
        self._told[loader] = whole, places

    def _within(self, dataset: Any) -> tuple[Any, list[Place]]:
        """The concatenation of which a data set has some rows, and their places; none for any other."""
        data = self._watch.torch.utils.data
        if isinstance(dataset, data.Subset):
            whole, places = self._within(dataset.dataset)
            return whole, [places[int(each)] for each in dataset.indices] if places else []
        if type(dataset) is not data.ConcatDataset:
            return None, []
        sizes = [len(each) for each in dataset.datasets]
        return dataset, [(part, row) for part, size in enumerate(sizes) for row in range(size)]

    def _compared(self, whole: Any, own: list[Place], others: set[Place]) -> tuple[int, int]:
        """How many samples were looked at, and how many of them have the source and the labels of another one."""
        twin = small_copy(self._watch, whole)  # reading may change what a data set stores
        whole = whole if twin is None else twin
        asked = shared = 0
        begun = time.process_time()
        for part, row in own[:: max(1, len(own) // ASKED)]:
            if time.process_time() - begun > SECONDS:
                break
            asked += 1
            twins = ((other, row) for other in range(len(whole.datasets)) if other != part and (other, row) in others)
            shared += any(self._same(whole, (part, row), twin) for twin in itertools.islice(twins, DEEPEST))
        return asked, shared

    def _same(self, whole: Any, one: Place, other: Place) -> bool:
        """Whether two samples, and only these of their parts, come from one row or file, with the same labels."""
        first, second = (self._read(whole, *each) for each in (one, other))
        neighbour = self._read(whole, one[0], one[1] - 1 if one[1] else 1)
        if first is None or second is None or neighbour is None:
            return False
        return bool((first[0] & second[0]) - neighbour[0]) and first[1] == second[1]

    def _read(self, whole: Any, part: int, row: int) -> tuple[set[Any], str] | None:
        """What is read for a sample, and its labels."""
        dataset = whole.datasets[part]
        sources: set[Any] = {(id(dataset), repr(row))}
        try:
            with _noting(_inner(self._watch.torch, dataset, DEEPEST), sources):
                sample = copy.copy(dataset)[row]
        except Exception:  # noqa: BLE001 - a dataset that fails will say so itself
            return None
        labels = sample[1:] if isinstance(sample, (tuple, list)) else ()
        return sources, repr(labels)


def _inner(torch: Any, dataset: Any, deep: int) -> Iterator[Any]:
    """The data sets that one holds, and those that they hold."""
    held = list(vars(dataset).values()) if deep else []
    for each in itertools.chain(*(each if isinstance(each, (list, tuple)) else (each,) for each in held)):
        if isinstance(each, torch.utils.data.Dataset):
            yield each
            yield from _inner(torch, each, deep - 1)


@contextmanager
def _noting(datasets: Iterator[Any], sources: set[Any]) -> Iterator[None]:
    """Notes each row of these data sets that is read, and each file that is opened."""
    with ExitStack() as stack:
        for kind in {type(each) for each in datasets}:
            stack.enter_context(_replaced(kind, "__getitem__", lambda self, row: sources.add((id(self), repr(row)))))
        for owner, name in ((builtins, "open"), *((sys.modules.get(module), name) for module, name in OPENERS)):
            if hasattr(owner, name):
                stack.enter_context(_replaced(owner, name, lambda path, *_: sources.add(str(path))))
        yield


@contextmanager
def _replaced(owner: Any, name: str, note: Callable[..., object]) -> Iterator[None]:
    """A function that notes what it is given, for a while."""
    original, own = getattr(owner, name), name in vars(owner)

    def noted(*arguments: Any, **keywords: Any) -> Any:
        if arguments:
            note(*arguments)
        return original(*arguments, **keywords)

    setattr(owner, name, noted)
    try:
        yield
    finally:
        if own:
            setattr(owner, name, original)
        else:
            delattr(owner, name)
