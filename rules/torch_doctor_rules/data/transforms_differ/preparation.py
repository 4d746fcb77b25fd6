"""What a model is evaluated on and was trained on, where both were prepared in ways that exclude each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from torch_doctor.trace import (
    AS_SPLIT,
    BY_HAND,
    CHANNELS,
    FITTED,
    SCALE,
    TOKENS,
    TRANSFORMS,
    VOCABULARY,
    WAYS,
    BatchReworked,
    Forward,
    InputPrepared,
    PixelsGiven,
)
from torch_doctor_rules.data.channel_order import mismatches
from torch_doctor_rules.data.transforms_differ.scaling import (
    ALIKE,
    ALIKE_IN_LOOP,
    is_raw,
    only_converted,
    scaled_alike,
    scaling_words,
)
from torch_doctor_rules.judging.testing import in_a_test
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import LoaderBuilt, Site, Trace
    from torch_doctor_rules.judging.loaders import Loaders

_ANEW = "`{name}` is evaluated with a `{by}` that is fitted again: its inputs differ from training"
_OWN = "`{name}` is evaluated on samples scaled by their own statistics, not by those of training"
_WORDS = "`{name}` is evaluated on words with other numbers than in training"
_NOT_TRANSFORMED = "`{name}` is evaluated on samples without the `{by}` that transforms the training samples"
REUSED = "fit it on the training samples only, and use it to transform the evaluation samples"
_TURNED = "`{name}` is evaluated on images with {theirs} first, but trained on images with {ours} first"
_OTHERS = "`{name}` is trained on tokens of `{ours}`, but evaluated on tokens of `{theirs}`"
_CASE = "`{name}` is evaluated on tokens of `{theirs}` with a different `do_lower_case` than in training"
SAME = "load the model's tokenizer once, and use it for training and evaluation"
NUMBERED = "number the words once, by the training samples, and use this vocabulary for evaluation, too"
AS_TRAINED = "prepare the inputs as in the script that trains the model"
UNSEEN = {
    NUMBERED: "a run does not show how the words are numbered",
    REUSED: "a run does not show which samples something was fitted on",
    SAME: "a run does not show which tokenizer produced the tokens",
    AS_TRAINED: "a run of one script does not show how another one prepares its inputs",
    ALIKE_IN_LOOP: "a run measures the batches as the loader returns them, before they are scaled",
}
"""What a run shows nothing of, by the remedy, and why."""
CONVERTED = "read all images the same way, or reverse the channels of one of the datasets"


class Unlike(NamedTuple):
    """Inputs of a model that it is evaluated on, and some that it is trained on, with the loaders that gave them, if any did."""

    theirs: InputPrepared
    ours: InputPrepared
    evaluated: LoaderBuilt | None
    trained: LoaderBuilt | None
    name: str
    site: Site


class Words(NamedTuple):
    """What is wrong with such inputs, the remedy, and what happens where those to train on and those to evaluate are prepared."""

    text: str
    remedy: str
    trained: str
    evaluated: str


_IMAGES = ("training images are read here", "evaluation images are read here")
_FITS = ("it is fitted for training here", "it is fitted for evaluation here")
_STEPS = {
    CHANNELS: (CONVERTED, *_IMAGES),
    SCALE: (ALIKE, *_IMAGES),
    TRANSFORMS: (ALIKE, "training images are transformed here", "evaluation images are transformed here"),
    TOKENS: (SAME, "the training tokenizer is loaded here", "the evaluation tokenizer is loaded here"),
    VOCABULARY: (NUMBERED, "words are numbered for training here", "words are numbered for evaluation here"),
    AS_SPLIT: (REUSED, _FITS[0], "these samples are as the split returned them"),
    FITTED: (REUSED, *_FITS),
}
"""The remedy for inputs of a sort, and what happens where those to train on and those to evaluate are prepared."""
_FIRST = {"RGB": "red", "BGR": "blue"}


def in_words(found: Unlike) -> Words:
    """What is wrong, in words."""
    name, theirs, ours = found.name, found.theirs, found.ours
    sort = theirs.sort if theirs.sort in _STEPS else theirs.sort.partition(" ")[0]
    by = {"by": ours.name} if sort in (AS_SPLIT, FITTED) else {}
    if sort == CHANNELS:
        by = {"theirs": _FIRST[theirs.how], "ours": _FIRST[ours.how]}
    elif sort == TOKENS:
        by = {"theirs": theirs.name, "ours": ours.name}
    remedy, *steps = _STEPS[sort]
    remedy = ALIKE_IN_LOOP if theirs.later or ours.later else remedy
    return Words(message(_template(sort, theirs, ours), name=name, **by), remedy, *steps)


def _template(sort: str, theirs: InputPrepared, ours: InputPrepared) -> str:
    """What is wrong with inputs of a sort."""
    if sort in (SCALE, TRANSFORMS):
        return scaling_words(theirs)
    if sort == TOKENS:
        return _OTHERS if ours.name != theirs.name else _CASE
    if sort == FITTED:
        return _OWN if theirs.name == BY_HAND else _ANEW
    return {CHANNELS: _TURNED, VOCABULARY: _WORDS, AS_SPLIT: _NOT_TRANSFORMED}[sort]


def unlike(trace: Trace, loaders: Loaders) -> Iterator[Unlike]:
    """The inputs of evaluations that were prepared otherwise than all that the same model is trained on."""
    reworked = {event.loader for event in trace.of(BatchReworked)}
    known = {
        (event.forward, event.sort): event
        for event in trace.of(InputPrepared)
        if not event.part and not (event.sort.startswith(TRANSFORMS) and event.loader in reworked)
    }
    if not known:
        return
    sorts = sorted({sort for _, sort in known})
    wrong = {event.prepared_at for event, *_ in mismatches(trace)}  # TDR716
    raw = {event.module for event in trace.of(PixelsGiven)}  # TDR711
    trained = [event for event in trace.of(Forward) if loaders.passes.surely_trains(event)]
    evaluated = list(_evaluated(loaders, {number for number, _ in known}))
    for forward in evaluated:
        same = [event.index for event in trained if event.module == forward.module]
        for sort in sorts:
            theirs, ours = known.get((forward.index, sort)), [known.get((index, sort)) for index in same]
            first = ours[0] if ours else None
            if theirs is None and first is not None and first.sort.startswith(FITTED):
                theirs = _as_split(known.get((forward.index, AS_SPLIT)), first)
            if theirs is None or first is None or not all(each and excludes(theirs, each) for each in ours):
                continue
            if theirs.prepared_at in wrong or first.prepared_at in wrong:
                continue
            if sort == SCALE and (
                (forward.module in raw and (is_raw(theirs) or is_raw(first)))
                or not (only_converted(theirs) or _alone(forward, first, evaluated, known))
            ):
                continue
            site = site_of(loaders, theirs)
            if site is not None:
                built = loaders.built.get(theirs.loader), loaders.built.get(first.loader)
                yield Unlike(theirs, first, *built, forward.name, site)


def _as_split(theirs: InputPrepared | None, ours: InputPrepared) -> InputPrepared | None:
    """What a model is evaluated on, where that is another part of the rows that something was fitted on for training."""
    return theirs if theirs is not None and theirs.splits & ours.splits else None


def _alone(
    forward: Forward, ours: InputPrepared, evaluated: list[Forward], known: dict[tuple[int, str], InputPrepared]
) -> bool:
    """Whether a model is evaluated on nothing that is scaled as in training: whatever else there is was changed on purpose."""
    others = (known.get((each.index, ours.sort)) for each in evaluated if each.module == forward.module)
    return all(each is not None and not scaled_alike(each, ours) for each in others)


def excludes(one: InputPrepared, other: InputPrepared) -> bool:
    """Whether two inputs have no way in common in which they were prepared."""
    if one.sort == SCALE or one.sort.startswith(TRANSFORMS):
        return not scaled_alike(one, other)
    return not set(one.how.split(WAYS)) & set(other.how.split(WAYS))


def _evaluated(loaders: Loaders, known: set[int]) -> Iterator[Forward]:
    """The forwards that surely evaluate: of loaders whose batches nothing trains on, and of what no loader gives."""
    yield from (forward for _, forward in loaders.never_training())
    passes = loaders.passes
    for forward in loaders.trace.of(Forward):
        alone = forward.index in known and not forward.inputs.loader and forward.grad is False
        if alone and not passes.goes_backward(forward) and passes.training_of(forward) and not in_a_test(forward):
            yield forward


def site_of(loaders: Loaders, given: InputPrepared) -> Site | None:
    """Where the data set is built whose rows these are, if that is known; else where they are prepared, without a loader."""
    loader = loaders.built.get(given.loader)
    whole = [] if loader is None else list(loaders.whole(loaders.dataset(loader)))
    return whole[-1].site if whole else None if given.loader else given.prepared_at
