"""Samples that were copied before a split, so that copies of one are trained on and evaluated."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from torch_doctor.rule import Step
from torch_doctor.trace import RowsSplit
from torch_doctor_rules.data.train_data_evaluated.overlaps import EVALUATES
from torch_doctor_rules.judging.loaders import Loaders

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import DatasetBuilt, Forward, LoaderBuilt, Site, Trace


class Copy(NamedTuple):
    """A loader that evaluates, in `forward`, what equals samples that `trained` reads; they are split at `site`."""

    evaluated: LoaderBuilt
    forward: Forward
    site: Site
    trained: LoaderBuilt

    def trail(self) -> list[Step]:
        """Return the places that explain it."""
        return [
            Step(self.trained.site, "one part is used for training here"),
            Step(self.evaluated.site, "the other part is used for evaluation here"),
            Step(self.forward.site, EVALUATES),
        ]


class Copied:
    """The loaders that evaluate one part of samples that were copied before they were split, where another is trained on."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.loaders = trace.view(Loaders)

    def found(self) -> Iterator[Copy]:
        """Each, once for one split."""
        seen = set()
        for evaluated, forward in self.loaders.never_training():
            for trained, backward in self.loaders.training():
                site = self._split(trained, evaluated)
                if site is not None and site not in seen and backward.index < forward.index:
                    seen.add(site)
                    yield Copy(evaluated, forward, site, trained)

    def _split(self, trained: LoaderBuilt, evaluated: LoaderBuilt) -> Site | None:
        """Where the samples of both were split, some of them copied before; in a run, where the later of both was built."""
        first, second = self.loaders.dataset(trained), self.loaders.dataset(evaluated)
        if first is None or second is None or first.dataset == second.dataset:
            return None
        if self.trace.run is not None:
            met = first.dataset in second.copies or second.dataset in first.copies
            return second.site if met else None
        for split in self.trace.of(RowsSplit):
            parts = [_parts(split, first), _parts(split, second)]
            if split.copied and (all(parts) or (any(parts) and first.parts == second.parts != ())):
                return split.site
        return None


def _parts(split: RowsSplit, dataset: DatasetBuilt) -> bool:
    """Whether a dataset has a part of what was split."""
    return split.index in dataset.splits or split.site == dataset.site
