"""How pictures are scaled for the evaluation of a model and for its training: by transforms, and as measured in a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace import TRANSFORMS, BatchMeasured

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_doctor.trace import InputPrepared, LoaderBuilt, Trace

_SHIFT, _RATIO = 0.2, 1.3
"""From where on two means, in deviations, and two deviations are others; less is a matter of taste, or of the sample."""
NEAR = 0.25
"""The part of that up to which they are alike."""

ALIKE = "scale images in the same way for both datasets; only random transforms are for training alone"
ALIKE_IN_LOOP = "scale the images in the same way for training and evaluation"
_LARGEST = 255.0
_LACKS = "`{name}` is evaluated on images that are not scaled as in training: the score is too low"
_SCALED_OTHERWISE = "`{name}` is evaluated on images that are scaled differently than in training"


def scaling_words(theirs: InputPrepared) -> str:
    """What is wrong with images that are scaled in another way for evaluation, in words about a model."""
    lacks = theirs.scaled_at is None if theirs.sort.startswith(TRANSFORMS) else only_converted(theirs)
    return _LACKS if lacks else _SCALED_OTHERWISE


def only_converted(given: InputPrepared) -> bool:
    """Whether images are as they were read, or between 0 and 1: nothing was done on purpose."""
    return given.mean == (0.0,) and given.std in ((1.0,), (_LARGEST,))


def is_raw(given: InputPrepared) -> bool:
    """Whether images are not scaled at all."""
    return given.mean == (0.0,) and given.std == (1.0,)


def scaled_alike(one: InputPrepared, other: InputPrepared) -> bool:
    """Whether two images are scaled by nearly the same numbers, or may be."""
    if one.sort.startswith(TRANSFORMS):
        if (one.scaled_at is None) != (other.scaled_at is None):
            return False
        if len(one.mean) != len(other.mean) or not one.mean:
            return True
    size = max(map(len, (one.mean, one.std, other.mean, other.std)))
    rows = [(each * size)[:size] for each in (one.mean, one.std, other.mean, other.std)]
    return not any(differs((m, s), (n, t)) for m, s, n, t in zip(*rows, strict=True))


def differs(one: tuple[float, float], other: tuple[float, float], part: float = 1.0) -> bool:
    """Whether two means, or two deviations, are clearly others, or by such a part of that."""
    (mean, std), (its, spread) = one, other
    low, high = sorted((std, spread))
    if low <= 0:
        return high > 0 or mean != its
    return abs(mean - its) > part * _SHIFT * high or high / low > 1 + part * (_RATIO - 1)


def statistics(trace: Trace, loader: LoaderBuilt) -> tuple[float, float] | None:
    """The mean and the deviation of the batches of a loader that were measured."""
    found = [event for event in trace.of(BatchMeasured) if event.loader == loader.loader]
    return (_mean([each.mean for each in found]), _mean([each.std for each in found])) if found else None


def _mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers)
