"""Reads samples of a copy of a data set several times: does that change what the data set stores?"""

from __future__ import annotations

import contextlib
import hashlib
import random
import sys
from typing import TYPE_CHECKING, Any

from ..copies import copied
from ..instrument import Instrument as Base

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...watching.watch import Watch

LARGEST = 64 * 2**20  # bytes that a data set stores
DEEPEST = 2
MOST = 1000  # arrays that are looked for
SAMPLES = 5  # samples that are read, each one twice


def small_copy(watch: Watch, dataset: Any) -> Any:
    """A copy of a data set that stores little; None of any other, and where it cannot be copied."""
    stored = list(_arrays(dataset))
    if len(stored) > MOST or sum(each.nbytes for each in stored) > LARGEST:
        return None
    try:
        return copied(watch, dataset)
    except Exception:  # noqa: BLE001 - a file that is open, say
        return None


class Instrument(Base):
    """Compares the arrays that a data set of the project stores before and after some of its samples are read."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._known: dict[int, tuple[Any, bool | None]] = {}  # by the id of a data set, which is kept

    def on_loader(self, loader: Any, workers: int, setup: Any, event: int, site: int) -> None:
        """A loader was built."""
        torch = self.watch.torch
        dataset: Any = getattr(loader, "dataset", None)
        while type(dataset) is torch.utils.data.Subset:
            dataset = dataset.dataset
        module = sys.modules.get(type(dataset).__module__)
        path = getattr(module, "__file__", None)
        recorder = self.watch.recorder
        if not path or not recorder.sites.is_users(path) or isinstance(dataset, torch.utils.data.IterableDataset):
            return
        if not any(True for _ in _arrays(dataset)):
            return
        if id(dataset) not in self._known:
            with self.watch.unwatched(), torch.random.fork_rng(devices=[]):
                self._known[id(dataset)] = dataset, self._changes(dataset)
        changed = self._known[id(dataset)][1]
        if changed is not None:
            recorder.event(
                "StoredRowChanged",
                recorder.here(),
                site=site,
                name="",
                class_name=type(dataset).__name__,
                loader=recorder.references.number(loader),
                changed=changed,
            )

    def _changes(self, dataset: Any) -> bool | None:
        """Whether each read changes what a copy stores; None if it cannot be copied or read."""
        numpy = sys.modules.get("numpy")
        before = random.getstate(), None if numpy is None else numpy.random.get_state()
        twin = small_copy(self.watch, dataset)
        if twin is None:
            return None
        try:
            states = [_state(twin)]
            for _ in range(2):
                for index in range(0, len(twin), max(1, len(twin) // SAMPLES)):
                    twin[index]
                states.append(_state(twin))
        except Exception:  # noqa: BLE001 - a dataset that fails will say so itself
            return None
        finally:
            random.setstate(before[0])
            if numpy is not None:
                numpy.random.set_state(before[1])
        return len(set(states)) == len(states) if len(set(states)) != 2 else None  # noqa: PLR2004 - changed once, as by a cache


def _state(dataset: Any) -> str:
    """What tells the numbers apart that a data set stores."""
    digest = hashlib.sha256()
    for array in _arrays(dataset):
        digest.update(array.tobytes())
    return digest.hexdigest()


def _arrays(value: Any, deep: int = DEEPEST) -> Iterator[Any]:
    """The arrays among the attributes of a data set, and in its lists and dicts; tensors as arrays of the same memory."""
    numpy: Any = sys.modules.get("numpy")
    of_object = list(getattr(value, "__dict__", {}).values()) if deep == DEEPEST else value
    held = of_object.values() if isinstance(of_object, dict) else of_object
    for each in list(held)[:MOST]:
        if type(each).__module__ == "torch" and hasattr(each, "detach"):
            with contextlib.suppress(TypeError):  # on a GPU, or as if it were
                if each.device.type == "cpu" and not each.is_sparse:
                    yield each.detach().contiguous().view(-1).numpy() if each.numel() else each.detach().numpy()
        elif numpy is not None and isinstance(each, numpy.ndarray):
            yield each
        elif deep and isinstance(each, (list, tuple, dict)):
            yield from _arrays(each, deep - 1)
