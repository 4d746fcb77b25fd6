"""What the model makes of each row: its loss, what it takes it for, what it was told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .answers import Answer, answers, belongs, folded
from .batches import rows as length
from .roles import main_score, sides

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from .plays import Play, Seen
    from .roles import Roles
    from .sampling import Sample
    from .stage import Stage


class Row:
    """One row: of which sample, its batch and place in it, its loss, and what was answered."""

    __slots__ = ("answer", "batch", "loss", "place", "sample", "whole")

    def __init__(self, sample: Sample, batch: int, place: int, loss: float, *, whole: bool) -> None:
        self.sample = sample
        self.batch = batch
        self.place = place
        self.loss = loss
        self.answer = Answer()
        self.whole = whole  # one of the batch: a loss over steps or points has more

    @property
    def label(self) -> int:
        """The class that it has; -1 where it has none."""
        return self.answer.label

    @property
    def guess(self) -> int:
        """The class that was answered."""
        return self.answer.guess

    @property
    def called(self) -> str:
        """How the user gets at it: its index in the data set, else its place among the rows that the loader gave."""
        index = self.sample.index(self.batch, self.place)
        if not self.whole:
            return f"{self.sample.name}, batch {self.batch}, value {self.place} in the loss"
        if index is not None:
            return f"{self.sample.name}.dataset[{index}]"
        return f"{self.sample.name}, batch {self.batch}, sample {self.place}"


class Rows:
    """The rows of some samples, as the model evaluates them; `looked` once a batch was."""

    def __init__(self, stage: Stage, known: Roles) -> None:
        self._stage = stage
        self._known = known
        self.found: list[Row] = []
        self.classes = {"classes": known.classes, "binary": 2}.get(known.task, 0)
        self.names: list[str] = []
        self.looked = False

    def look(self, sample: Sample, seconds: float) -> Generator[Play, Seen, None]:
        """Adds the rows of a sample, as many as the time allows."""
        stage = self._stage
        until = stage.left - seconds
        self.names.append(sample.name)
        for number, batch in enumerate(sample.batches):
            if stage.left < until:
                break
            seen = yield from stage.play(batch, evaluate=True, keep=True)
            self.looked = True
            self._take(sample, number, seen)

    def _take(self, sample: Sample, number: int, seen: Seen) -> None:
        score, torch = main_score(seen), self._stage.torch
        if score is None:
            return
        outputs, target = sides(score)
        if outputs is None or target is None or not hasattr(target, "shape"):
            return
        with torch.no_grad():
            losses = self._losses(score, outputs.detach(), target.detach())
            if losses is None:
                return
            batch = sample.batches[number]
            rows = length(batch)
            steps = folded(target, batch, rows) and len(losses) == target.numel()
            if steps:
                outputs = outputs.reshape(rows, -1, *outputs.shape[1:]).movedim(2, 1)
                target = target.reshape(rows, -1)
                kept = target != score.keywords.get("ignore_index", -100)
                losses = (losses.reshape(rows, -1) * kept).sum(1) / kept.sum(1).clamp(min=1)
            whole = len(losses) == rows and (steps or belongs(seen, outputs, target, batch))
            several = target.shape[1] if self._known.task == "binary" and target.dim() == 2 else 0
            named = class_names(sample, several if several > 1 else self.classes)
            task = self._known.task if whole else ""
            made = answers(torch, score, outputs.detach(), target.detach(), task, named)
            for row, loss in enumerate(losses.tolist()):
                found = Row(sample, number, row, loss, whole=whole)
                found.answer = made[row] if made else found.answer
                if not found.answer.ignored:
                    self.found.append(found)

    def _losses(self, score: Any, outputs: Any, target: Any) -> Any:
        """The loss of every row; None where the loss cannot be taken apart."""
        if not self._known.task:
            return None
        keywords = {
            name: value
            for name, value in score.keywords.items()
            if name not in {"input", "target", "reduction", "size_average", "reduce"}
        }
        function = getattr(self._stage.torch.nn.functional, score.called)
        losses = function(outputs, target, **keywords, reduction="none")
        if not losses.dim():
            return None
        whole = losses.reshape(losses.shape[0], -1).float()
        return whole.sum(1) if score.keywords.get("reduction") == "sum" else whole.mean(1)


def class_names(sample: Sample, classes: int) -> Callable[[int], str]:
    """What classes are called: the `classes` of the data set, as those of torchvision have them, else their numbers."""
    dataset = getattr(sample.loader, "dataset", None)
    for _ in range(4):
        names = getattr(dataset, "classes", None)
        if isinstance(names, (list, tuple)) and len(names) == classes and all(isinstance(each, str) for each in names):
            if getattr(dataset, "target_transform", None) is None:
                return lambda label, names=names: names[label] if 0 <= label < len(names) else str(label)  # type: ignore[misc]
            break
        dataset = getattr(dataset, "dataset", None)
    return str
