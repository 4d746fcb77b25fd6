"""Curves of training on a small subset: loss and score of training and validation, and how they are read."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from .scoring import Score, scored
from .telling import count, fact, line, number, plot

if TYPE_CHECKING:
    from collections.abc import Generator

    from .plays import Play, Seen
    from .roles import Roles
    from .sampling import Sample
    from .stage import Stage

EVALUATED = 8  # batches of each set that are evaluated at each point
ENOUGH = 48
"""Optimizer steps from which on curves are read; before, a model may not have begun to learn."""
POINTS = 3  # points after the first without which curves are not read
FALLS = 0.05
"""The part of the loss before training by which it has to fall to be called learning."""
RISES = 0.1
"""The part by which a validation loss has to lie above its lowest point to be called rising."""
MEMORISED = 0.9  # training accuracy, or the part of the variance of the targets, from which on a subset is memorised
FEWEST = 20  # validation samples without which a score means nothing
ERRORS = 2.0  # standard errors by which a score may lie above chance and still be called chance


class Point:
    """What was measured after some optimizer steps: losses in evaluation mode, and scores; None where there are none."""

    def __init__(self, steps: int) -> None:
        self.steps = steps
        self.losses: dict[str, float] = {}
        self.scores: dict[str, Score] = {}


class Curves:
    """The points, the first one before training. `name` is the validation set's, "" where there is none.

    Readings: `underfitting`, the training loss does not fall; `overfitting`, it falls and the validation loss rises from its
    lowest point; `fitting`, both fall; `learning`, it falls and there is no validation; and `undecided`, also where `several`
    optimizers may work against each other. A few batches are memorized by nearly every model, so that overfitting on them is
    no fault: nothing here fails.
    """

    def __init__(self, known: Roles, training: Sample, other: Sample | None, *, several: bool) -> None:
        self.known, self.training, self.other, self.several = known, training, other, several
        self.points: list[Point] = []

    @property
    def name(self) -> str:
        """What the validation set is called."""
        return self.other.name if self.other is not None else ""

    def measure(self, stage: Stage, steps: int, seconds: float) -> Generator[Play, Seen, None]:
        """Evaluate the model as it is now on both sets, as far as the time allows."""
        point = Point(steps)
        for sample in (self.training, self.other):
            if sample is None:
                continue
            score = yield from scored(stage, self.known, sample, EVALUATED, seconds / 2)
            if score.losses:
                point.losses[sample.name] = sum(score.losses) / len(score.losses)
                point.scores[sample.name] = score
        self.points.append(point)

    def losses(self, name: str) -> list[float]:
        """The losses of one set at all points where they are known."""
        return [each.losses[name] for each in self.points if name in each.losses]

    @property
    def reading(self) -> str:
        """How the curves are read."""
        own, others = self.losses(self.training.name), self.losses(self.name)
        known = [*own, *others]
        enough = self.points and self.points[-1].steps >= ENOUGH and len(own) > POINTS
        if self.several or not enough or not self.known.task or own[0] <= 0 or not all(map(math.isfinite, known)):
            return "undecided"
        if own[-1] > (1 - FALLS) * own[0]:
            return "underfitting"
        if not others:
            return "learning"
        if others[-1] > (1 + RISES) * min(others):
            return "overfitting"
        return "fitting" if others[-1] <= others[0] else "undecided"

    @property
    def lowest(self) -> Point | None:
        """The point with the lowest validation loss."""
        held = [each for each in self.points if self.name in each.losses]
        return min(held, key=lambda each: each.losses[self.name]) if held else None

    @property
    def overfits(self) -> str:
        """From which step on it overfits, in words."""
        lowest = self.lowest
        if lowest is None or not lowest.steps:
            return f"overfitting: the training loss falls, and the loss on {self.name} only rises"
        low = number(lowest.losses[self.name])
        return f"overfitting: the loss on {self.name} rises from its lowest, {low} at step {lowest.steps}"

    @property
    def unlearned(self) -> str:
        """That the training accuracy is no better than that of the most frequent class, in words; empty elsewhere."""
        own = self.points[-1].scores.get(self.training.name) if self.points else None
        if own is None or not own.classes or not own.usable or sum(own.counts) < FEWEST or len(own.present) < 2:
            return ""
        share, total = max(own.counts) / sum(own.counts), sum(own.counts)
        if own.accuracy > share + ERRORS * math.sqrt(share * (1 - share) / total):
            return ""
        top = f"always answering the most frequent class gets {number(round(share, 3))}"
        return f"accuracy on {self.training.name} is {number(round(own.accuracy, 3))}, and {top}"

    def accuracies(self, name: str) -> list[float]:
        """The accuracies of one set at all points; empty where there are no classes."""
        scores = [each.scores.get(name) for each in self.points]
        return [each.accuracy for each in scores if each is not None and each.classes and each.usable]

    @property
    def unrelated(self) -> str:
        """That what was memorized does not help on validation at all, in words; empty where it does or nobody knows.

        With classes the accuracy is not above that of the most frequent one, and the mean recall not above chance by
        `ERRORS` standard errors; with numbers the error is not below that of the mean. Too few samples are another reason.
        """
        last = self.points[-1].scores if self.points else {}
        own, other = last.get(self.training.name), last.get(self.name)
        if own is None or other is None or not (own.usable and other.usable):
            return ""
        if not own.classes:
            mean = float(own.error_of(own.sums / max(1, own.values)))
            best = other.error_of(other.sums / max(1, other.values))
            if other.values < FEWEST or not mean or own.error > (1 - MEMORISED) * mean or other.error < best:
                return ""
            return f"the squared error on {self.name}, {number(other.error)}, is not below that of the mean, {number(best)}"
        total, present = sum(other.counts), len(other.present)
        if total < FEWEST or present < 2 or own.accuracy < MEMORISED:
            return ""
        share, chance = max(other.counts) / total, 1 / present
        spread = ERRORS * math.sqrt(chance * (1 - chance) / total)
        if (
            other.accuracy > share
            or other.balanced > chance + spread
            or min(other.counts[each] for each in other.present) < 3
        ):
            return ""
        top = f"always answering the most frequent class gets {number(round(share, 3))}"
        return f"accuracy on {self.name} is {number(round(other.accuracy, 3))}, and {top}"

    # --- telling ---

    def facts(self) -> list[dict[str, Any]]:
        """The first and last point, that with the lowest validation loss, and the reading."""
        found = []
        ends = [self.points[0], self.lowest, self.points[-1]] if self.points else []
        for each in dict.fromkeys(filter(None, ends)):
            group = f"after {count(each.steps, 'optimizer step')}, in evaluation mode"
            for name, loss in each.losses.items():
                found.append(fact(f"loss on {name}", loss, group=group))
                score = each.scores[name]
                if score.classes and score.usable:
                    found.append(fact(f"accuracy on {name}", score.accuracy, group=group))
        return [*found, fact("curves", self.reading)]

    def plots(self) -> list[dict[str, Any]]:
        """Loss and accuracy of both sets over the optimizer steps."""
        found = []
        for what, values in (("loss", self.losses), ("accuracy", self.accuracies)):
            series, told = [], []
            for name in filter(None, (self.training.name, self.name)):
                own = values(name)
                if len(own) == len(self.points) > 1:
                    series.append(line(name, own, [float(each.steps) for each in self.points]))
                    told.append(f"{name}: {number(own[0])} → {number(own[-1])}")
            if series:
                title = f"{what.capitalize()} in evaluation mode on a small subset"
                found.append(plot(title, "lines", "; ".join(told), x_label="step", y_label=what, series=series))
        return found

    def told(self) -> str:
        """Losses and accuracies before and after, in words."""
        parts = []
        for name in filter(None, (self.training.name, self.name)):
            own, right = self.losses(name), self.accuracies(name)
            if len(own) > 1:
                text = f"loss on {name} {number(own[0])} → {number(own[-1])}"
                parts.append(f"{text} (accuracy {number(round(right[-1], 3))})" if right else text)
        steps = self.points[-1].steps if self.points else 0
        return f"in {count(steps, 'step')}: {', '.join(parts)}" if parts else ""
