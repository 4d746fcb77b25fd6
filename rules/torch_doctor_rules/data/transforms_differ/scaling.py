"""How pictures are scaled for the evaluation of a model and for its training: by transforms, and as measured in a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from torch_doctor.trace import BatchMeasured, BatchReworked, Forward, LoaderBuilt, RowsScaled

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch_doctor.trace import DatasetBuilt, InputPrepared, Trace
    from torch_doctor_rules.judging.loaders import Loaders

_SHIFT, _RATIO = 0.2, 1.3
"""From where on two means, in deviations, and two deviations are others; less is a matter of taste, or of the sample."""
NEAR = 0.25
"""The part of that up to which they are alike."""

_MISSING = "images of `{name}` are not normalized, unlike in training: the score is too low"
_ONLY = "images of `{name}` are normalized, unlike in training: the score is too low"
_OTHERS = "images of `{name}` are normalized differently than in training: the score is too low"


class Pair(NamedTuple):
    """A loader that evaluates a model, one that trains it, and how both scale their pictures."""

    evaluated: LoaderBuilt
    trained: LoaderBuilt
    built: DatasetBuilt
    theirs: RowsScaled
    ours: RowsScaled


def pairs(trace: Trace, loaders: Loaders) -> Iterator[Pair]:
    """The loaders that evaluate and train one model with pictures of one class of datasets, as the loaders give them."""
    reworked = {event.loader for event in trace.of(BatchReworked)}
    scaled = {event.dataset: event for event in trace.of(RowsScaled)}
    for evaluated, forward in loaders.never_training():
        theirs = _scaling(loaders, evaluated, scaled)
        if theirs is None or evaluated.loader in reworked:
            continue
        for trained, backward in loaders.training():
            ours = _scaling(loaders, trained, scaled)
            fed = [event for event in trace.at(*backward.loss.forwards) if isinstance(event, Forward)]
            same = trained.loader not in reworked and any(each.module == forward.module for each in fed)
            if ours is not None and same and ours[1].source == theirs[1].source:
                yield Pair(evaluated, trained, theirs[0], theirs[1], ours[1])


def _scaling(
    loaders: Loaders, loader: LoaderBuilt, scaled: dict[int, RowsScaled]
) -> tuple[DatasetBuilt, RowsScaled] | None:
    """How the pictures of a loader are scaled, with the dataset that does so."""
    whole = loaders.whole(loaders.dataset(loader))
    return next(((each, scaled[each.dataset]) for each in whole if each.dataset in scaled), None)


def unlike_words(pair: Pair) -> str:
    """What is wrong with a pair, in words about a loader; "" where nothing is, or nobody knows."""
    theirs, ours = pair.theirs, pair.ours
    if theirs.dataset == ours.dataset or theirs.converted != ours.converted:
        return ""
    if (theirs.normalised_at is None) != (ours.normalised_at is None):
        return _MISSING if theirs.normalised_at is None else _ONLY
    channels = zip(theirs.mean, theirs.std, ours.mean, ours.std, strict=False)
    others = len(theirs.mean) == len(ours.mean) and any(differs((m, s), (n, t)) for m, s, n, t in channels)
    return _OTHERS if others else ""


ALIKE = "scale images in the same way for both datasets; only random transforms are for training alone"
ALIKE_IN_LOOP = "scale the images in the same way for training and evaluation"
_LARGEST = 255.0
_LACKS = "`{name}` is evaluated on images that are not scaled as in training: the score is too low"
_SCALED_OTHERWISE = "`{name}` is evaluated on images that are scaled differently than in training"


def scaling_words(theirs: InputPrepared) -> str:
    """What is wrong with images that are scaled in another way for evaluation, in words about a model."""
    return _LACKS if only_converted(theirs) else _SCALED_OTHERWISE


def only_converted(given: InputPrepared) -> bool:
    """Whether images are as they were read, or between 0 and 1: nothing was done on purpose."""
    return given.mean == (0.0,) and given.std in ((1.0,), (_LARGEST,))


def is_raw(given: InputPrepared) -> bool:
    """Whether images are not scaled at all."""
    return given.mean == (0.0,) and given.std == (1.0,)


def scaled_alike(one: InputPrepared, other: InputPrepared) -> bool:
    """Whether two images are scaled by nearly the same numbers."""
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
