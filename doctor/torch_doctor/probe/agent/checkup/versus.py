"""Trains for a while, and compares the model with predictors that do not look at their input."""

from __future__ import annotations

import math
from itertools import cycle
from typing import TYPE_CHECKING, Any

from .sampling import BATCHES, is_drawn, samples, validation
from .scoring import Score, scored
from .telling import count, fact, line, number, plot

if TYPE_CHECKING:
    from collections.abc import Generator

    from .plays import Play, Seen
    from .roles import Roles
    from .sampling import Sample
    from .stage import Stage

UPDATES = 200
"""Optimizer steps after which the model is scored again; fewer where the time ends before."""
LEAST = 40
"""Steps, of training and of evaluation, for which there has to be time."""
WORSE = 3.0
"""Standard errors by which a score has to be below that of a constant answer to be called worse than it."""
RARE = 0.8
"""The share of the largest class from which on accuracy says little: four fifths, or five times an equal share if that is less."""
FEW = 5  # samples of each class without which the mean recall is no evidence
TOLD = 8  # classes that have facts of their own


class Versus:
    """The scores before and after training on `name`, and those of training; `status` is what follows from them.

    `passed`: the model is better than the constant answer, in accuracy, or where classes are rare in balanced accuracy.
    `failed`: it is worse by `WORSE` standard errors on what it trains on, after `UPDATES` optimizer steps in which the training
    loss did not fall. Everything else is `shown`, as a model may need longer.
    """

    def __init__(
        self, torch: Any, names: tuple[str, str], scores: tuple[Score, Score, Score], losses: list[float]
    ) -> None:
        self._torch = torch
        self.name, self.training = names
        self.where = self.name if self.name != self.training else f"{self.name} (no validation set could be read)"
        self.first, self.last, self.own = scores
        self.losses = losses
        self.evidence: list[dict[str, Any]] = []
        self.plots: list[dict[str, Any]] = []
        self.after = f"after {count(len(losses), 'optimizer step')}"
        self.status, self.told = self._numbers() if not self.last.classes else self._classes()

    @property
    def stays(self) -> bool:
        """Whether the training loss was not lower in the last quarter of all updates than in the first."""
        quarter = max(1, len(self.losses) // 4)
        early, late = sum(self.losses[:quarter]), sum(self.losses[-quarter:])
        return len(self.losses) >= UPDATES and not late < early

    def _bars(self, what: str, dumb: str, values: list[float]) -> None:
        names = [dumb, "before training", self.after]
        told = "; ".join(f"{name}: {number(value)}" for name, value in zip(names, values))
        title = f"{what} on {self.name} compared with a constant answer"
        self.plots.append(plot(title, "bars", told, y_label=what, names=names, series=[line(what, values)]))

    def _classes(self) -> tuple[str, str]:
        last, group = self.last, f"{self.name}, {self.after}"
        counts = last.counts
        top = max(range(len(counts)), key=counts.__getitem__)
        total = max(1, sum(last.counts))
        dumb, accuracy = last.counts[top] / total, last.accuracy
        self.evidence += [
            fact(f"accuracy of always answering class {top}", dumb, group=self.name),
            fact("accuracy before training", self.first.accuracy, group=self.name),
            fact("accuracy", accuracy, group=group, expected=f"above {number(dumb)}"),
            fact("balanced accuracy", last.balanced, group=group, expected=f"above {number(1 / max(1, len(last.present)))}"),
            fact("accuracy", self.own.accuracy, group=f"{self.training}, {self.after}"),
        ]  # fmt: skip
        if last.classes == 2:
            self.evidence.append(fact("AUROC", last.auroc(self._torch), group=group, expected="above 0.5"))
        worst = sorted(last.present, key=last.recall)
        for label in worst[:TOLD]:
            where = f"class {label}, {last.counts[label]} of {total} in {self.name}"
            self.evidence += [fact("recall", last.recall(label), group=where), fact("F1", last.f1(label), group=where)]
        self._bars("accuracy", f"always class {top}", [dumb, self.first.accuracy, accuracy])
        share = counts[top] / max(1, sum(counts))
        rare = len(last.present) > 1 and share >= min(RARE, 5 / len(counts)) and counts[top] >= 4 * FEW
        enough = min((last.counts[label] for label in last.present), default=0) >= FEW and len(last.present) > 1
        better = accuracy > dumb or (rare and enough and last.balanced > 1 / len(last.present) + 0.1)
        told = f"accuracy on {self.where} {number(round(self.first.accuracy, 3))} → {number(round(accuracy, 3))} {self.after}"
        told += f"; always answering class {top} gets {number(round(dumb, 3))}"
        if not better:
            told += ": the model is no better than that"
        elif accuracy <= dumb:
            told += f", but a balanced accuracy of {number(round(1 / len(last.present), 3))}"
        if worst and accuracy < 1:
            low = worst[0]
            told += f"; lowest recall {number(round(last.recall(low), 3))} (F1 {number(round(last.f1(low), 3))}) for class {low}"
        if rare:
            told += f"; {self._instead(share, top)}"
        if better:
            return "passed", told
        many = max(1, sum(self.own.counts))
        limit = max(self.own.counts) / many
        error = math.sqrt(max(limit * (1 - limit), 1e-4) / many)
        return self._no_better(told, worse=self.own.accuracy < limit - WORSE * error)

    def _instead(self, share: float, top: int) -> str:
        """What to measure where one class is most of the data."""
        auroc = self.last.auroc(self._torch)
        ranked = f" and AUROC ({number(round(auroc, 3))})" if auroc is not None else ""
        rarest = min(self.last.present, key=self.last.counts.__getitem__)
        f1 = number(round(self.last.f1(rarest), 3))
        measured = f"balanced accuracy ({number(round(self.last.balanced, 3))}), F1 ({f1} for class {rarest}){ranked}"
        return f"class {top} is {share:.0%} of {self.name}, so measure {measured}"

    def _numbers(self) -> tuple[str, str]:
        mean = self.own.sums / max(1, self.own.values)
        dumb = self.last.error_of(mean)
        if not dumb:
            return "", ""
        before, after = (1 - each.error / dumb for each in (self.first, self.last))
        group = f"{self.name}, {self.after}"
        self.evidence += [
            fact("mean squared error of predicting the training mean", dumb, group=self.name),
            fact("mean squared error before training", self.first.error, group=self.name),
            fact("mean squared error", self.last.error, group=group, expected=f"below {number(dumb)}"),
            fact("R²", after, group=group, expected="above 0, which the training mean gets"),
            fact("mean squared error", self.own.error, group=f"{self.training}, {self.after}"),
        ]
        self._bars("mean squared error", "the training mean", [dumb, self.first.error, self.last.error])
        told = f"mean squared error on {self.where} {number(self.first.error)} → {number(self.last.error)} {self.after}"
        told += f"; predicting the training mean gets {number(dumb)} (R² {before:.2f} → {after:.2f} against 0)"
        if after > 0:
            return "passed", told
        worse = not self.own.error <= WORSE * self.own.error_of(mean)
        return self._no_better(f"{told}: the model is no better than that", worse=worse)

    def _no_better(self, told: str, *, worse: bool) -> tuple[str, str]:
        if not all(map(math.isfinite, self.losses)):
            return "shown", f"{told}; the training loss becomes non-finite"
        if worse and self.stays:
            return (
                "failed",
                f"{told}; on {self.training} it is worse than a constant answer, and the training loss does not fall",
            )
        return "shown", told


def versus(stage: Stage, known: Roles) -> Generator[Play, Seen, Versus | str]:
    """Score the model, train it on the first batches by the script's own step, and score it again.

    Returns "" where nothing can be compared: the data is synthetic, the targets do not come from the batch (as in a GAN, in
    reinforcement or contrastive learning), or outputs and targets have no common measure. Returns the reason where the time
    does not suffice for `LEAST` steps. Everything is restored at the end.
    """
    if not known.task or not known.compared or stage.loader is None or stage.voided & {"values", "weights", "shapes"}:
        return ""
    found = samples(stage, stage.left * 0.3)
    if not found or found[0].loader is not stage.loader:
        return ""
    if stage.left < LEAST * known.seen.seconds:
        return "there is no time to train and to compare the model with a constant answer"
    training, other = found[0], validation(stage, found)
    if other is not None and not is_drawn(stage, other):
        other = None  # its first batches may have one class only
    held: Sample = training if other is None else other
    whole = stage.left
    stage.begin_anew()
    first = yield from scored(stage, known, held, BATCHES, whole * 0.1)
    losses: list[float] = []
    until = stage.left - whole * 0.5
    for batch in cycle(training.batches if first.usable else ()):
        if len(losses) >= UPDATES or stage.left < until:
            break
        seen = yield from stage.play(batch)
        losses.append(math.nan if seen.loss is None else seen.loss)
    last = yield from scored(stage, known, held, first.batches, whole * 0.15)
    own = last
    if other is not None:
        own = yield from scored(stage, known, training, BATCHES, whole * 0.15)
    stage.restore()
    if not losses or not first.usable or not last.usable or not own.usable:
        return ""
    return Versus(stage.torch, (held.name, training.name), (first, last, own), losses)
