"""Splits that are drawn anew: rows that were trained on after one draw are evaluated after another."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from torch_doctor.rule import Step
from torch_doctor.trace import BranchKind, Forward, ModuleBuilt, Reordered, Seeded, Trace
from torch_doctor_rules.data.train_data_evaluated.kept import Kept
from torch_doctor_rules.judging.comparison import pairs
from torch_doctor_rules.judging.loaders import Loaders
from torch_doctor_rules.judging.scores import is_scored
from torch_doctor_rules.judging.split_parts import EVALUATES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Backward, Event, LoaderBuilt, Site


class Redraw(NamedTuple):
    """A loader that evaluates, in `forward`, a dataset made at `site`; the one that trained, and where the split is drawn.

    `looped` says whether each pass of a loop draws another split.
    """

    evaluated: LoaderBuilt
    forward: Forward
    site: Site
    trained: LoaderBuilt
    drawn: Site
    looped: bool

    def trail(self) -> list[Step]:
        """Return the places that explain it."""
        when = "in every iteration of the loop" if self.looped else "here, with other random numbers"
        used = "samples of earlier epochs" if self.looped else "samples of both parts"
        return [
            Step(self.trained.site, "the samples are used for training here"),
            Step(self.drawn, f"the data is split again {when}"),
            Step(self.evaluated.site, f"{used} are used for evaluation here"),
            Step(self.forward.site, EVALUATES),
        ]


class Redrawn:
    """The loaders that evaluate a part of a split, whose rows the same model was trained on after another draw."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.loaders = trace.view(Loaders)

    def found(self) -> Iterator[Redraw]:
        """Each, once for one dataset's place."""
        seen = set()
        for evaluated, forward, trained, backward in pairs(self.trace):
            dataset = self.loaders.dataset(evaluated)
            if dataset is None or dataset.site in seen:
                continue
            draws = self._drawn(trained, evaluated)
            if draws is not None and self._trained_before(backward, forward):
                seen.add(dataset.site)
                yield Redraw(evaluated, forward, dataset.site, trained, *draws)

    def _drawn(self, trained: LoaderBuilt, evaluated: LoaderBuilt) -> tuple[Site, bool] | None:
        """Where the rows of both were drawn so that they have some in common, and whether in two passes of a loop."""
        if self.trace.run is not None:
            first, second = self.loaders.dataset(trained), self.loaders.dataset(evaluated)
            shared = first is not None and second is not None and first.dataset in second.shares
            again = shared and second is not None and _in_another_pass(trained, evaluated)
            return (second.site, True) if again and second is not None else None
        orders = [
            [event for event in self.trace.at(*sorted(loader.orders)) if isinstance(event, Reordered)]
            for loader in (trained, evaluated)
        ]
        for first_draw in orders[0]:
            for second_draw in orders[1]:
                surely = self._behind(first_draw, trained) and self._behind(second_draw, evaluated)
                if first_draw.of == second_draw.of != "" and surely and self._differ(first_draw, second_draw):
                    looped = first_draw.site == second_draw.site and _in_another_pass(first_draw, second_draw)
                    if looped or not trained.orders & evaluated.orders:
                        return second_draw.site, looped
        return None

    def _behind(self, draw: Reordered, loader: LoaderBuilt) -> bool:
        """Whether a loader has the rows of a draw on each way to it: not where they may be read from a file instead."""
        branches = self.trace.branches
        return all(branches[number].kind is BranchKind.FLAG for number, _ in draw.guards - loader.guards)

    def _differ(self, first: Reordered, second: Reordered) -> bool:
        """Whether two draws get other random numbers."""
        low, high = sorted((first.index, second.index))
        if first.anew and second.anew:
            return low < high and not any(low < event.index < high for event in self.trace.of(Seeded))
        fixed = [each.seed for each in (first, second) if not each.anew]
        return all(fixed) and first.seed != second.seed

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
