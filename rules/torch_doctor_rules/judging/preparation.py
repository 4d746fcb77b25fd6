"""What a model is evaluated on and was trained on, where both were prepared in ways that exclude each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from torch_doctor.trace import Forward, InputPrepared

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import LoaderBuilt, Site, Trace
    from torch_doctor_rules.judging.loaders import Loaders


class Unlike(NamedTuple):
    """Inputs of a model that it is evaluated on, and some that it is trained on, with the loaders that gave them, if any did."""

    theirs: InputPrepared
    ours: InputPrepared
    evaluated: LoaderBuilt | None
    trained: LoaderBuilt | None
    forward: Forward
    site: Site


def unlike(trace: Trace, loaders: Loaders) -> Iterator[Unlike]:
    """The inputs of evaluations that were prepared otherwise than all that the same model is trained on."""
    known = {(event.forward, event.sort): event for event in trace.of(InputPrepared)}
    sorts = sorted({sort for _, sort in known})
    if not known:
        return
    passes = loaders.passes
    trained = [event for event in trace.of(Forward) if passes.surely_trains(event)]
    for forward in _evaluated(loaders):
        same = [event.index for event in trained if event.module == forward.module]
        for sort in sorts:
            theirs, ours = known.get((forward.index, sort)), [known.get((index, sort)) for index in same]
            first = ours[0] if ours else None
            if theirs is None or first is None or theirs.how in {each.how if each else theirs.how for each in ours}:
                continue
            evaluated = loaders.built.get(theirs.loader)
            yield Unlike(theirs, first, evaluated, loaders.built.get(first.loader), forward, _site(loaders, theirs))


def _evaluated(loaders: Loaders) -> Iterator[Forward]:
    """The forwards that surely evaluate: of loaders whose batches nothing trains on, and of what no loader gives."""
    yield from (forward for _, forward in loaders.never_training())
    for forward in loaders.passes.evaluations():
        if not forward.inputs.loader and forward.grad is False:
            yield forward


def _site(loaders: Loaders, given: InputPrepared) -> Site:
    """Where the data set is built whose rows these are; else where they are prepared."""
    loader = loaders.built.get(given.loader)
    whole = [] if loader is None else list(loaders.whole(loaders.dataset(loader)))
    return whole[-1].site if whole else given.prepared_at
