"""How well a model answers: accuracy, recall, F1 and AUROC for classes, the error against the mean for numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .batches import is_dense
from .roles import main_score, sides
from .sampling import MANY_CLASSES

if TYPE_CHECKING:
    from collections.abc import Generator

    from .plays import Play, Seen
    from .roles import Roles
    from .sampling import Sample
    from .stage import Stage

MOST_RANKED = 100_000  # answers of two classes of which AUROC is computed


class Score:
    """Answers of a model against the targets of its loss.

    For classes `pairs` has the counts of each label (row) and answer (column). For numbers `squares` is the sum of squared
    errors, `sums` and `powers` are those of the targets and of their squares by column, and `values` the number of rows.
    `usable` tells that there was something to score, in `batches` batches, and `losses` are theirs.
    """

    def __init__(self, known: Roles) -> None:
        self.classes = 2 if known.task == "binary" else known.classes if known.task == "classes" else 0
        self._known = known
        self.pairs: Any = None
        self.squares, self.values = 0.0, 0
        self.sums: Any = 0.0
        self.powers: Any = 0.0
        self.columns = 1
        self._ranked: list[Any] = []  # the outputs of class 1 and the labels, where there are two classes
        self.usable = False
        self.batches = 0
        self.losses: list[float] = []

    def take(self, torch: Any, seen: Seen) -> None:
        """Add the answers of one step."""
        score = main_score(seen)
        if score is None:
            return
        outputs, target = sides(score)
        if score.called != self._called or not hasattr(target, "shape") or not target.numel():
            return
        if not is_dense(outputs) or not is_dense(target) or target.is_complex():
            return
        outputs, target = outputs.detach(), target.detach()
        if self.classes:
            ignored = score.keywords.get("ignore_index", -100)
            self._take_classes(torch, outputs, target, ignored, logits=score.called != "binary_cross_entropy")
        elif outputs.shape == target.shape and target.dim():
            own = target.double().reshape(target.shape[0], -1)
            self.squares += float((outputs.double().reshape(own.shape) - own).square().sum())
            self.sums, self.powers = self.sums + own.sum(0).cpu(), self.powers + own.square().sum(0).cpu()
            self.values, self.columns = self.values + own.shape[0], int(own.shape[1])
            self.usable = True

    @property
    def _called(self) -> str:
        return self._known.score.called if self._known.score is not None else ""

    def _take_classes(self, torch: Any, outputs: Any, target: Any, ignored: int, *, logits: bool) -> None:
        if self._known.task == "binary":
            single = target.numel() == target.shape[0] if target.dim() else False
            if not single or outputs.numel() != target.numel() or not bool(((target == 0) | (target == 1)).all()):
                return
            ranks, labels = outputs.float().reshape(-1), target.reshape(-1).long()
            guesses = (ranks > (0.0 if logits else 0.5)).long()
        else:
            if target.is_floating_point() or outputs.dim() < 2 or self.classes > MANY_CLASSES:
                return
            guesses, labels = outputs.argmax(1), target.long()
            if guesses.shape != labels.shape:
                return
            ranks = (outputs[:, 1] - outputs[:, 0]).float().reshape(-1) if self.classes == 2 else None
            guesses, labels = guesses.reshape(-1), labels.reshape(-1)
        kept = (labels >= 0) & (labels < self.classes) & (labels != ignored)
        own = torch.bincount((labels * self.classes + guesses)[kept].cpu(), minlength=self.classes**2)
        own = own.reshape(self.classes, self.classes)
        self.pairs = own if self.pairs is None else self.pairs + own
        if ranks is not None:
            self._ranked.append((ranks[kept].cpu(), labels[kept].cpu()))
        self.usable = bool(self.pairs.sum())

    # --- classes ---

    @property
    def counts(self) -> list[int]:
        """How often each label comes."""
        return [int(each) for each in self.pairs.sum(1).tolist()]

    @property
    def accuracy(self) -> float:
        """The share of right answers."""
        return float(self.pairs.diagonal().sum()) / max(1, int(self.pairs.sum()))

    def recall(self, label: int) -> float:
        """The share of the samples with a label that are answered with it."""
        return float(self.pairs[label, label]) / max(1, int(self.pairs[label].sum()))

    def f1(self, label: int) -> float:
        """The harmonic mean of precision and recall of a label."""
        both = int(self.pairs[label].sum()) + int(self.pairs[:, label].sum())
        return 2 * float(self.pairs[label, label]) / max(1, both)

    @property
    def present(self) -> list[int]:
        """The labels that come at all."""
        return [label for label, many in enumerate(self.counts) if many]

    @property
    def balanced(self) -> float:
        """The mean recall of the labels that come at all."""
        return sum(map(self.recall, self.present)) / max(1, len(self.present))

    def auroc(self, torch: Any) -> float | None:
        """The area under the ROC curve, for two classes; None where one of them is missing, or there are too many answers."""
        if not self._ranked or len(self.present) < 2 or sum(self.counts) > MOST_RANKED:
            return None
        ranks, labels = (torch.cat(each) for each in zip(*self._ranked))
        if not bool(ranks.isfinite().all()):
            return None
        _, places, many = ranks.unique(return_inverse=True, return_counts=True)
        average = many.cumsum(0).double() - (many.double() - 1) / 2  # equal answers share their rank
        ones = int((labels == 1).sum())
        above = float(average[places][labels == 1].sum()) - ones * (ones + 1) / 2
        return above / (ones * (len(labels) - ones))

    # --- numbers ---

    @property
    def error(self) -> float:
        """The mean squared error."""
        return self.squares / max(1, self.values * self.columns)

    def error_of(self, mean: Any) -> float:
        """The mean squared error of predicting this for each column."""
        rest = self.powers - 2 * mean * self.sums + self.values * mean * mean
        return max(0.0, float(rest.sum())) / max(1, self.values * self.columns)


def scored(stage: Stage, known: Roles, sample: Sample, most: int, seconds: float) -> Generator[Play, Seen, Score]:
    """Evaluate the first `most` batches of a sample by the script's own step, without updates, as far as the time allows."""
    score = Score(known)
    until = stage.left - seconds
    for batch in sample.batches[:most]:
        if stage.left < until:
            break
        seen = yield from stage.play(batch, evaluate=True, keep=True)
        score.take(stage.torch, seen)
        score.batches += 1
        if seen.loss is not None:
            score.losses.append(seen.loss)
    return score
