"""`DataLoader` without workers: its options that need some are left out."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

from . import told
from .small_batches import SmallBatches

if TYPE_CHECKING:
    from types import ModuleType

    from .told import Teller

# Option → what it is without workers.
WITHOUT_WORKERS: dict[str, Any] = {
    "num_workers": 0,
    "timeout": 0,
    "multiprocessing_context": None,
    "prefetch_factor": None,
    "persistent_workers": False,
}


def install(torch: ModuleType, teller: Teller, *, on_cpu: bool) -> None:
    """Patches the constructor of `torch.utils.data.DataLoader`; with `on_cpu` memory is not pinned, and batches may be smaller."""
    if on_cpu:
        SmallBatches(teller).install(torch)
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
            teller.stand_in(
                "DataLoader workers", f"num_workers={workers}", "the data is loaded in this process", [told.WORKERS]
            )
            given.update({name: value for name, value in WITHOUT_WORKERS.items() if name in given})
        if on_cpu:
            given.update(
                {name: value for name, value in (("pin_memory", False), ("pin_memory_device", "")) if name in given}
            )
        given.pop("self")
        build(self, **given, **rest)

    loader.__init__ = built
