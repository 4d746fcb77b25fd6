"""What the model makes of each row: its loss, what it takes it for, what it was told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .batches import rows as length
from .roles import main_score, sides

if TYPE_CHECKING:
    from collections.abc import Generator

    from .plays import Play, Seen
    from .roles import Roles
    from .sampling import Sample
    from .stage import Stage


class Row:
    """One row: of which sample, its batch and place in it, its loss, and for classes its label, the guess, and how sure it is."""

    __slots__ = ("batch", "guess", "label", "loss", "place", "sample", "sure", "whole")

    def __init__(self, sample: Sample, batch: int, place: int, loss: float, *, whole: bool) -> None:
        self.sample = sample
        self.batch = batch
        self.place = place
        self.loss = loss
        self.label = self.guess = -1
        self.sure = 0.0
        self.whole = whole  # one of the batch: a loss over steps or points has more

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
        self.classes = known.classes if known.task == "classes" else 0
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
            sure = guess = None
            if self.classes and outputs.dim() == 2 and not target.is_floating_point() and target.dim() == 1:
                sure, guess = outputs.detach().float().softmax(1).max(1)
            whole = len(losses) == length(sample.batches[number])
            for row, loss in enumerate(losses.tolist()):
                found = Row(sample, number, row, loss, whole=whole)
                if sure is not None and guess is not None:
                    found.label, found.guess, found.sure = int(target[row]), int(guess[row]), float(sure[row])
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
