"""How well one batch is fitted: the loss against what is possible, and which samples the model still gets wrong."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .roles import Roles, constant, scale_of

if TYPE_CHECKING:
    from collections.abc import Generator

    from .plays import Play, Seen
    from .stage import Stage

MEMORISED = 0.1
"""Part of what can be learned from the batch that may be left of the loss."""
MOST_OF = 0.5
"""Share of a soft label above which its class is what a fitted model chooses."""
FAR = 3.0
"""Times the loss of a constant prediction above which a model is worse than useless."""


class Fit:
    """The loss at the end against the lowest that is possible (`floor`) and that of a model that knows nothing (`reference`).

    `right` of `samples` are classified correctly; None where there are no classes.
    """

    def __init__(self, end: float, base: float, limits: tuple[float, float], right: int | None, samples: int) -> None:
        self.end, (self.floor, reference) = end, limits
        self.known, self.reference = math.isfinite(reference), min(base, reference)
        self.right, self.samples = right, samples

    @property
    def memorised(self) -> bool:
        """Whether the loss is near what is possible and every sample is classified correctly."""
        near = self.end - self.floor <= MEMORISED * max(self.reference - self.floor, 1e-12)
        return near and self.right in (None, self.samples)

    @property
    def hopeless(self) -> bool:
        """Whether a constant prediction would be far better, as far as its loss is known."""
        return self.known and self.end > FAR * self.reference > 0

    @property
    def left(self) -> str:
        """What is still wrong, in words."""
        if self.right is None or self.right == self.samples:
            return ""
        return f"{self.samples - self.right} of {self.samples} samples are still classified wrong"


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
    """Ask the model, as it is now and in evaluation mode, for the batch again."""
    right, samples = None, 0
    if known.task == "classes" and known.plain:
        seen = yield from stage.play(keep=True, evaluate=True)
        right, samples = _right(Roles(stage, seen))
    return Fit(end, base, bounds(stage, known), right, samples)


def _right(known: Roles) -> tuple[int | None, int]:
    """How many labels are the class with the largest output, and of how many; soft labels count if one class has most."""
    outputs, target = known.outputs, known.target
    if outputs is None or target is None or outputs.dim() < 2:
        return None, 0
    chosen = outputs.detach().argmax(1)
    soft = target.is_floating_point() and target.shape == outputs.shape
    labels = target.argmax(1) if soft else target
    if labels.shape != chosen.shape:
        return None, 0
    counts = target.amax(1) > MOST_OF if soft else (labels >= 0) & (labels < outputs.shape[1])
    ignored = known.score.keywords.get("ignore_index") if known.score is not None else None
    if ignored is not None:
        counts &= labels != ignored
    return int(((chosen == labels) & counts).sum()), int(counts.sum())


def lowest(known: Roles) -> float | None:
    """What the loss cannot fall below, because the targets are no certain answers."""
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
