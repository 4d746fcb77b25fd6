"""Samples that were copied before a split, so that copies of one are trained on and evaluated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor_rules.judging.split_parts import SplitParts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Trace
    from torch_doctor_rules.judging.split_parts import Parts


class Copied:
    """The loaders that evaluate one part of samples that were copied before they were split, where another is trained on."""

    def __init__(self, trace: Trace) -> None:
        self.parts = trace.view(SplitParts)

    def found(self) -> Iterator[Parts]:
        """Each, once for one split."""
        seen = set()
        for each in self.parts.found():
            if each.site not in seen and (self._meets(each) if each.split is None else each.split.copied):
                seen.add(each.site)
                yield each

    def _meets(self, parts: Parts) -> bool:
        """Whether some samples of both loaders are equal, as a run shows."""
        datasets = [self.parts.loaders.dataset(each) for each in (parts.trained, parts.evaluated)]
        first, second = (set() if each is None else {each.dataset, *each.copies} for each in datasets)
        return any(each is not None and each.dataset in first & second for each in datasets)
