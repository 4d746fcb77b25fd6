"""Smaller batches of made-up data where the CPU is too slow for those that are meant for a GPU.

A loader that does not drop its last, incomplete batch gives smaller ones anyway, so that the script takes them.
"""

from __future__ import annotations

import functools
from time import monotonic
from typing import TYPE_CHECKING, Any

from . import told
from .cuda.devices import needed
from .stand_in import StandIn

if TYPE_CHECKING:
    from .stand_in import Setting

PICTURES, SLOW = 16, 4  # rows of a batch of large pictures, and of any when batches take long
LONG = 4.0  # seconds from one batch to the next
WHY = "too slow on the CPU"


class SmallBatches(StandIn):
    """Cuts the rows of a batch before they are read."""

    replaces = WHY
    voids = (told.VALUES,)

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self._slow = self.learnt.of("time") is not None

    def needed(self, torch: Any) -> bool:
        """Whether the CPU computes what is meant for a GPU."""
        return self._slow or needed(torch, self.plan)

    def with_torch(self, torch: Any) -> None:
        """Patches what chooses the rows of the next batch."""
        iterator: Any = torch.utils.data.dataloader._BaseDataLoaderIter
        choose = iterator._next_index

        @functools.wraps(choose)
        def chosen(self_: Any) -> Any:
            rows = choose(self_)
            now, before = monotonic(), vars(self_).get("_torch_doctor_given")
            self._slow |= before is not None and now - before > LONG
            self_._torch_doctor_given = now
            most = SLOW if self._slow else PICTURES if _reads_pictures(getattr(self_, "_dataset", None)) else 0
            if (
                not most
                or told.VALUES not in self.teller.voided
                or (getattr(self_, "_drop_last", True) and "time" not in self.learnt.kinds())
                or not isinstance(rows, list)
                or len(rows) <= most
            ):
                return rows
            self.tell(f"batches of {len(rows)} samples", f"batches of {most}")
            return rows[:most]

        iterator._next_index = chosen


def _reads_pictures(dataset: Any) -> bool:
    """Whether it is a folder of pictures, as torchvision reads them: large ones."""
    return hasattr(dataset, "samples") and hasattr(dataset, "loader")
