"""Loaders that evaluate, and those that train: on another part of the same split, or on anything else."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from torch_doctor.rule import Step
from torch_doctor.trace import RowsSplit
from torch_doctor_rules.judging.comparison import pairs
from torch_doctor_rules.judging.loaders import Loaders

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import DatasetBuilt, Forward, LoaderBuilt, Site, Trace

EVALUATES = "this pass is an evaluation: no `backward()` follows"


class Parts(NamedTuple):
    """A loader that evaluates, in `forward`, one part of what is split at `site`; `trained` reads another part."""

    evaluated: LoaderBuilt
    forward: Forward
    site: Site
    trained: LoaderBuilt
    split: RowsSplit | None

    def trail(self) -> list[Step]:
        """Return the places that explain it."""
        return [
            Step(self.trained.site, "one part is used for training here"),
            Step(self.evaluated.site, "the other part is used for evaluation here"),
            Step(self.forward.site, EVALUATES),
        ]


class SplitParts:
    """The pairs of loaders of which one evaluates and the other trains, with parts of the same samples."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.loaders = trace.view(Loaders)

    def found(self) -> Iterator[Parts]:
        """Yield each pair with every split of which both have a part; in a run, with the later of both data sets."""
        for evaluated, forward, trained, backward in pairs(self.trace):
            first, second = self.loaders.dataset(trained), self.loaders.dataset(evaluated)
            if first is None or second is None or first.dataset == second.dataset or backward.index > forward.index:
                continue
            if self.trace.run is not None:
                yield Parts(evaluated, forward, second.site, trained, None)
                continue
            for split in self.trace.of(RowsSplit):
                parts = [_is_part(split, *each) for each in ((trained, first), (evaluated, second))]
                if all(parts) or (any(parts) and first.parts == second.parts != ()):
                    yield Parts(evaluated, forward, split.site, trained, split)

    def windows(self, parts: Parts) -> Site | None:
        """Return where overlapping windows are cut that a random split separates: before it, or as a sample is read."""
        if parts.split is None or not parts.split.orders:
            return None
        loaders = (parts.trained, parts.evaluated)
        wholes = [[*self.loaders.whole(self.loaders.dataset(each))] for each in loaders]
        parted = all(len(whole) > 1 or each.orders for whole, each in zip(wholes, loaders, strict=True))
        common = wholes[0][-1].dataset == wholes[1][-1].dataset
        return parts.split.windows or (wholes[0][-1].windows if parted and common else None)


def whole(trace: Trace, loader: LoaderBuilt) -> DatasetBuilt | None:
    """Return the dataset that a loader's samples come from in the end: that of which it reads a part."""
    loaders = trace.view(Loaders)
    return next(reversed([*loaders.whole(loaders.dataset(loader))]), None)


def _is_part(split: RowsSplit, loader: LoaderBuilt, dataset: DatasetBuilt) -> bool:
    """Whether a loader's dataset has a part of what was split."""
    return split.index in dataset.splits or split.site == dataset.site or not split.orders.isdisjoint(loader.orders)
