"""Whether a model still has the weights that it was trained to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace import Escaped, Forward, Loaded, OptimizerBuilt, Trace, WeightsGiven
from torch_doctor_rules.judging.family import Family

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Backward


class Kept:
    """The weights of models, between what trains them and what evaluates them."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.family = trace.view(Family)

    def is_same(self, backward: Backward, forward: Forward) -> bool:
        """Whether what is evaluated is what was trained, or has a part in common with it."""
        models = {each.module for each in self.trace.at(*backward.forwards) if isinstance(each, Forward)}
        return self.family.related(models | backward.modules, {forward.module})

    def renewed(self, backward: Backward, forward: Forward) -> Iterator[int]:
        """The events between both by which the model may have got other weights than those it was trained to.

        Who builds a new optimizer over it has begun again, by whatever means.
        """
        own = self.family.within(backward.modules | {forward.module})
        given: list[tuple[int, frozenset[int]]] = [
            *((each.index, each.modules if each.whole else own) for each in self.trace.of(WeightsGiven)),
            *((each.index, each.modules) for each in self.trace.of(Escaped)),
            *((each.index, frozenset((each.module,))) for each in self.trace.of(Loaded)),
            *((each.index, each.modules) for each in self.trace.of(OptimizerBuilt)),
        ]
        yield from (index for index, modules in given if backward.index < index < forward.index and modules & own)
