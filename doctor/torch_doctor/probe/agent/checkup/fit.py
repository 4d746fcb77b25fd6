"""How well one batch is fitted: the loss against what is possible, and which samples the model still gets wrong."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from .alike import Alike
from .roles import Roles, constant, scale_of
from .telling import count, number

if TYPE_CHECKING:
    from collections.abc import Generator

    from .plays import Play, Seen
    from .stage import Stage

MEMORISED = 0.1
"""Part of what can be learned from the batch that may be left of the loss."""
MOST_OF = 0.5
"""Share of a soft label above which its class is what a fitted model chooses."""
SHOWN, TOLD = 12, 3
"""Samples that do not fit: as many are listed, and as many named in the sentence."""
FAR = 3.0
"""Times the loss of a constant prediction above which a model is worse than useless."""


class Fit:
    """The loss at the end against the lowest that is possible (`floor`) and that of a model that knows nothing (`reference`).

    `evaluated` is the loss in evaluation mode, without dropout. `right` of `samples` are classified correctly, in whichever
    mode that is more, and no more than `possible` can be; None where there are no classes. `wrong` are the samples that do
    not fit, in words. `contradicted` inputs of the batch have several labels. `same`: the outputs
    of all samples are equal in evaluation mode.
    """

    def __init__(self, end: float, base: float, limits: tuple[float, float], alike: Alike) -> None:
        self.end, (self.floor, reference) = end, limits
        self.known, self.reference = math.isfinite(reference), min(base, reference)
        self.contradicted, self.lost = alike.inputs, alike.lost
        self.evaluated = math.inf
        self.right: int | None = None
        self.samples = 0
        self.what = "samples"
        self.wrong: list[str] = []
        self.same = False

    def _near(self, loss: float) -> bool:
        return loss - self.floor <= MEMORISED * max(self.reference - self.floor, 1e-12)

    @property
    def without_dropout(self) -> bool:
        """Whether the loss is near what is possible in evaluation mode alone; in training mode it beats a constant prediction."""
        return not self._near(self.end) and self._near(self.evaluated) and self.end < self.reference

    @property
    def possible(self) -> int:
        """How many samples can be right, as equal inputs get equal answers."""
        return self.samples - self.lost

    @property
    def almost(self) -> bool:
        """Whether the loss is near what is possible, but for some labels more steps are needed."""
        return self._near(self.end) and not self.memorised

    @property
    def memorised(self) -> bool:
        """Whether the loss is near what is possible and every sample that can be right is classified correctly."""
        return (self._near(self.end) or self.without_dropout) and (self.right is None or self.right >= self.possible)

    @property
    def hopeless(self) -> bool:
        """Whether a constant prediction would be far better, as far as its loss is known."""
        return self.known and self.end > FAR * self.reference > 0

    @property
    def accuracy(self) -> str:
        """How many samples are right, in words; empty where there are no classes."""
        return "" if self.right is None else f"{self.right:,} of {self.samples:,} {self.what} are classified correctly"

    @property
    def left(self) -> str:
        """What is still wrong, in words."""
        shown = f" ({'; '.join(self.wrong[:TOLD])}{'; …' * (len(self.wrong) > TOLD)})" if self.wrong else ""
        if self.right is None or self.right == self.samples:
            return f"the samples that fit worst{shown}" if shown else ""
        return f"{self.samples - self.right} of {self.samples:,} {self.what} are still classified wrong{shown}"

    @property
    def labels(self) -> str:
        """What equal inputs with different labels make impossible, in words."""
        if not self.contradicted:
            return ""
        said = f"{count(self.contradicted, 'input')} of the batch {'has' if self.contradicted == 1 else 'have'}"
        return f"{said} several targets, so the loss cannot go below {number(self.floor)}"


def bounds(stage: Stage, known: Roles) -> tuple[float, float]:
    """Return the lowest loss that is possible, and that of a model that knows nothing (infinite: unknown)."""
    scale = scale_of(stage, known)
    if not known.plain or not scale:
        return 0.0, math.inf
    return (lowest(known) or 0.0) / scale, (knowing_nothing(known) or math.inf) / scale


def knowing_nothing(known: Roles) -> float | None:
    """Return the loss of equal probabilities, or for numbers of the best constant; None where neither is known."""
    if known.task == "classes" and known.classes > 1:
        return math.log(known.classes)
    return math.log(2) if known.task == "binary" else constant(known)


def fit(stage: Stage, known: Roles, end: float, base: float) -> Generator[Play, Seen, Fit]:
    """Ask the model, as it is now, for the batch again: in evaluation mode, and for classes as it trains, too.

    Batch norm that has not caught up spoils the answers of the one, dropout those of the other.
    """
    found = Fit(end, base, bounds(stage, known), Alike(known))
    for how in ({"evaluate": True}, {"frozen": True}):
        seen = yield from stage.play(keep=True, **how)
        if "evaluate" in how and seen.loss is not None:
            found.evaluated = seen.loss
        if not known.task or not known.plain:
            continue
        answered = Roles(stage, seen)
        found.same |= "evaluate" in how and _same(answered.outputs)
        _answers(found, answered)
    return found


def _same(outputs: Any) -> bool:
    """Whether several samples all get the same output."""
    if outputs is None or outputs.dim() < 2 or outputs.shape[0] < 2:
        return False
    return bool((outputs == outputs[:1]).all())


def _answers(found: Fit, known: Roles) -> None:
    """Count the labels that are the class with the largest output; soft labels count if one class has most."""
    outputs, target = known.outputs, known.target
    if outputs is None or target is None:
        return
    if known.task == "numbers":
        _distances(found, outputs.detach(), target.detach())
    if known.task != "classes" or outputs.dim() < 2:
        return
    shares = outputs.detach().float().softmax(1)
    sure, chosen = shares.max(1)
    soft = target.is_floating_point() and target.shape == outputs.shape
    labels = target.argmax(1) if soft else target
    if labels.shape != chosen.shape:
        return
    counts = target.amax(1) > MOST_OF if soft else (labels >= 0) & (labels < outputs.shape[1])
    ignored = known.score.keywords.get("ignore_index") if known.score is not None else None
    if ignored is not None:
        counts &= labels != ignored
    right = int(((chosen == labels) & counts).sum())
    if found.right is not None and found.right >= right:
        return
    found.right, found.samples = right, int(counts.sum())
    found.what = "samples" if labels.dim() == 1 else "labels"
    found.wrong = []
    for place in ((chosen != labels) & counts).nonzero()[:SHOWN].tolist():
        where = f"sample {place[0]}" + f", place {place[1:]}" * (len(place) > 1)
        at = tuple(place)
        found.wrong.append(f"{where}: label {int(labels[at])}, predicted {int(chosen[at])} with {float(sure[at]):.0%}")


def _distances(found: Fit, outputs: Any, target: Any) -> None:
    """The samples with the largest distance between output and target, where there is one of each."""
    if outputs.shape != target.shape or not target.dim() or target.numel() != target.shape[0]:
        return
    given, wanted = outputs.float().reshape(-1), target.float().reshape(-1)
    order = (given - wanted).abs().sort(descending=True).indices[:TOLD].tolist()
    found.wrong = [
        f"sample {row}: target {number(float(wanted[row]))}, output {number(float(given[row]))}" for row in order
    ]


def lowest(known: Roles) -> float | None:
    """What the loss cannot fall below, because targets are no certain answers, or equal inputs have different ones."""
    own, more = _uncertain(known), Alike(known).loss
    return own if not more else (own or 0.0) + more


def _uncertain(known: Roles) -> float | None:
    target = known.target
    if known.score is None or target is None:
        return None
    if known.task == "classes":
        smoothing = float(known.score.keywords.get("label_smoothing") or 0.0)
        if target.is_floating_point():
            shares = target.detach().double().clamp_min(1e-12)
            return float(-(shares * shares.log()).sum(1).mean()) if shares.dim() > 1 else None
        if smoothing and known.classes > 1:
            rest = smoothing / known.classes
            top = 1 - smoothing + rest
            return -(top * math.log(top) + (known.classes - 1) * rest * math.log(rest))
    if known.task == "binary":
        shares = target.detach().double().clamp(1e-12, 1 - 1e-12)
        return float(-(shares * shares.log() + (1 - shares) * (1 - shares).log()).mean())
    return None
