"""Splits that are drawn anew in every pass of a loop: rows that were trained on in one pass are evaluated in another."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from torch_doctor.rule import Step
from torch_doctor.trace import Forward, ModuleBuilt, Reordered, Seeded, Trace
from torch_doctor_rules.data.train_data_evaluated.kept import Kept
from torch_doctor_rules.judging.loaders import Loaders
from torch_doctor_rules.judging.scores import is_scored
from torch_doctor_rules.judging.split_parts import EVALUATES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Backward, Event, LoaderBuilt, Site


class Redraw(NamedTuple):
    """A loader that evaluates, in `forward`, a dataset made at `site`; the one that trained, and where the split is drawn."""

    evaluated: LoaderBuilt
    forward: Forward
    site: Site
    trained: LoaderBuilt
    drawn: Site

    def trail(self) -> list[Step]:
        """Return the places that explain it."""
        return [
            Step(self.trained.site, "the samples are used for training here"),
            Step(self.drawn, "the data is split again in every iteration of the loop"),
            Step(self.evaluated.site, "samples of earlier epochs are used for evaluation here"),
            Step(self.forward.site, EVALUATES),
        ]


class Redrawn:
    """The loaders that evaluate a part of a split, whose rows an earlier pass of the same loop has trained the same model on."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.loaders = trace.view(Loaders)

    def found(self) -> Iterator[Redraw]:
        """Each, once for one dataset's place."""
        seen = set()
        for evaluated, forward in self.loaders.never_training():
            dataset = self.loaders.dataset(evaluated)
            if dataset is None or dataset.site in seen:
                continue
            for trained, backward in self.loaders.training():
                drawn = self._drawn(trained, evaluated)
                if drawn is not None and self._trained_before(backward, forward):
                    seen.add(dataset.site)
                    yield Redraw(evaluated, forward, dataset.site, trained, drawn)
                    break

    def _drawn(self, trained: LoaderBuilt, evaluated: LoaderBuilt) -> Site | None:
        """Where the rows of both were drawn, in two passes of a loop, so that they have some in common."""
        if self.trace.run is not None:
            first, second = self.loaders.dataset(trained), self.loaders.dataset(evaluated)
            shared = first is not None and second is not None and first.dataset in second.shares
            return second.site if shared and second is not None and _in_another_pass(trained, evaluated) else None
        orders = [
            [event for event in self.trace.at(*sorted(loader.orders)) if isinstance(event, Reordered)]
            for loader in (trained, evaluated)
        ]
        for first_draw in orders[0]:
            for second_draw in orders[1]:
                if self._alike(first_draw, second_draw):
                    return second_draw.site
        return None

    def _alike(self, first: Reordered, second: Reordered) -> bool:
        """Whether one call draws from the same rows in two passes of a loop, with other random numbers each time."""
        return (
            first.site == second.site
            and first.anew
            and second.anew
            and first.of == second.of != ""
            and _in_another_pass(first, second)
            and not any(first.index < event.index < second.index for event in self.trace.of(Seeded))
        )

    def _trained_before(self, backward: Backward, forward: Forward) -> bool:
        """Whether what is evaluated is the model that was trained, which nobody gave other weights since."""
        if backward.index > forward.index or not is_scored(self.trace, forward):
            return False
        models = {each.module for each in self.trace.at(*backward.forwards) if isinstance(each, Forward)}
        built = any(each.module == forward.module for each in self.trace.of(ModuleBuilt))
        unseen = not built or forward.unseen  # the methods of what is out of sight may draw new weights
        if forward.module not in models or unseen:
            return False
        return not any(self.trace.view(Kept).renewed(backward, forward))


def _in_another_pass(first: Event, second: Event) -> bool:
    """Whether the second lies in a later pass of a loop in which the first lies, too."""
    passes = {scope.loop: scope.number for scope in first.scope.iterations()}
    return any(passes.get(scope.loop, scope.number) < scope.number for scope in second.scope.iterations())
