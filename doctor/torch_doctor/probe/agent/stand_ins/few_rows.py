"""Made-up data with fewer rows than a batch has, of a loader that drops incomplete batches: it would give none."""

from __future__ import annotations

import functools
import itertools
from typing import TYPE_CHECKING, Any

from . import told
from .stand_in import StandIn

if TYPE_CHECKING:
    from collections.abc import Iterator

BATCHES = 2


class FewRows(StandIn):
    """Repeats the rows, so that there are two batches."""

    replaces = "fewer rows were made up than a batch has"
    voids = (told.VALUES,)

    def with_torch(self, torch: Any) -> None:
        """Patches the sampler that gathers the rows of a batch."""
        sampler: Any = torch.utils.data.BatchSampler
        rows, count = sampler.__iter__, sampler.__len__

        @functools.wraps(rows)
        def repeated(this: Any) -> Iterator[list[int]]:
            if not self._gives_none(this):
                yield from rows(this)
                return
            self.tell(f"batches of {this.batch_size} samples", f"{BATCHES} batches of repeated samples")
            own = list(this.sampler)
            for _ in range(BATCHES if own else 0):
                yield list(itertools.islice(itertools.cycle(own), this.batch_size))

        @functools.wraps(count)
        def counted(this: Any) -> int:
            return BATCHES if self._gives_none(this) else int(count(this))

        sampler.__iter__, sampler.__len__ = repeated, counted

    def _gives_none(self, sampler: Any) -> bool:
        """Whether it would drop all that there is, of data that was made up."""
        if not getattr(sampler, "drop_last", False) or told.VALUES not in self.teller.voided:
            return False
        try:
            return bool(0 < len(sampler.sampler) < sampler.batch_size)
        except TypeError:
            return False
