"""`DataLoader` without workers: its options that need some are left out."""

from __future__ import annotations

import functools
import inspect
from typing import Any

from . import told
from .cuda.devices import needed
from .stand_in import StandIn

# Option → what it is without workers.
WITHOUT_WORKERS: dict[str, Any] = {
    "num_workers": 0,
    "timeout": 0,
    "multiprocessing_context": None,
    "prefetch_factor": None,
    "persistent_workers": False,
}


class LoaderWorkers(StandIn):
    """Has a loader get its rows in this process."""

    replaces = "no worker processes"
    voids = (told.WORKERS,)

    def with_torch(self, torch: Any) -> None:
        """Patches the constructor of `DataLoader`; without a GPU memory is not pinned."""
        _build_without_workers(torch, self, on_cpu=needed(torch, self.plan))


def _build_without_workers(torch: Any, stand_in: StandIn, *, on_cpu: bool) -> None:
    """Replaces the constructor."""
    loader: Any = torch.utils.data.DataLoader
    build = loader.__init__
    signature = inspect.signature(build)

    @functools.wraps(build)
    def built(self: Any, *arguments: Any, **keywords: Any) -> None:
        try:
            given = signature.bind(self, *arguments, **keywords).arguments
        except TypeError:
            build(self, *arguments, **keywords)  # raises what the script expects
            return
        rest = given.pop("kwargs", {})
        workers = given.get("num_workers", 0)
        if isinstance(workers, int) and workers > 0:
            how = "loading in the main process"
            stand_in.tell("DataLoader workers", how, why=f"num_workers={workers}")
            given.update({name: value for name, value in WITHOUT_WORKERS.items() if name in given})
        if on_cpu:
            given.update(
                {name: value for name, value in (("pin_memory", False), ("pin_memory_device", "")) if name in given}
            )
        given.pop("self")
        build(self, **given, **rest)

    loader.__init__ = built
