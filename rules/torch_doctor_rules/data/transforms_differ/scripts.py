"""A script that only predicts, beside the scripts of its project that train its model: how each prepares the inputs."""

from __future__ import annotations

import posixpath
from fnmatch import fnmatchcase
from itertools import product
from typing import TYPE_CHECKING

from msgspec.structs import replace

from torch_doctor.trace import (
    CHANNELS,
    SCALE,
    TOKENS,
    TRANSFORMS,
    Backward,
    BatchReworked,
    Forward,
    InputPrepared,
    Loaded,
    ModelInput,
    ModuleBuilt,
    Saved,
    Scope,
    ScopeKind,
    Site,
    StateTaken,
)
from torch_doctor_rules.data.channel_order import mismatches
from torch_doctor_rules.data.transforms_differ.preparation import Unlike, excludes, site_of
from torch_doctor_rules.data.transforms_differ.scaling import is_raw
from torch_doctor_rules.judging.checkpoint_files import spelled
from torch_doctor_rules.judging.loaders import Loaders
from torch_doctor_rules.judging.testing import is_test_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch_doctor.trace import Trace

_SORTS = (CHANNELS, SCALE, TOKENS)
"""The sorts of preparation that mean the same in every script."""
_TOLD = ("how", "prepared_at", "mean", "std", "later", "name")


def inputs(trace: Trace) -> Iterator[ModelInput]:
    """Yield the inputs of each model that the script trains, or if it trains nothing, of each model.

    Beside them one of no sort for each model with the files of its weights: what calls it may be another run of the script.
    """
    loaders, trains = trace.view(Loaders), any(trace.of(Backward))
    wrong = {event.prepared_at for event, *_ in mismatches(trace)}  # TDR716
    events = [event for event in trace.of(InputPrepared) if not event.part and event.prepared_at not in wrong]
    known = {(event.forward, SCALE): _of_transforms(event) for event in events if _normalises(trace, event)}
    known |= {(event.forward, event.sort): event for event in events if event.sort in _SORTS}
    called: dict[int, list[Forward]] = {}
    for forward in trace.of(Forward) if known or trains else ():
        if not trains or loaders.passes.surely_trains(forward):
            called.setdefault(forward.module, []).append(forward)
    for built in () if is_test_file(Site(trace.path, 1, 1, 1, 1)) else trace.of(ModuleBuilt):
        model = ModelInput(
            script=trace.path,
            model=str(built.class_site or f"{posixpath.dirname(trace.path)} {built.class_name}"),
            own=built.class_site is not None,
            built=built.site,
            site=built.site,
            trains=trains,
        )
        files = tuple(sorted(_saved(trace, built.module) if trains else _loaded(trace, built.module)))
        if files:
            yield replace(model, files=files)
        for forward, sort in product(called.get(built.module, ()), _SORTS):
            event = known.get((forward.index, sort))
            site = None if event is None else site_of(loaders, event)
            told = {} if site is None else {name: getattr(event, name) for name in _TOLD}
            yield replace(model, called=forward.name, sort=sort, site=site or forward.site, **told)


def _normalises(trace: Trace, event: InputPrepared) -> bool:
    """Whether transforms make pixels of 0 to 1, and normalise them by known numbers, and no loop computes more of them."""
    reworked = {each.loader for each in trace.of(BatchReworked)}
    converted = event.sort.startswith(TRANSFORMS) and event.sort.endswith("['torchvision.transforms.ToTensor']")
    return converted and event.scaled_at is not None and bool(event.mean) and event.loader not in reworked


def _of_transforms(event: InputPrepared) -> InputPrepared:
    """What is known by the transforms alone of images that a collate function, or another class, may arrange out of sight."""
    mean, std = (tuple(255.0 * each for each in numbers) for numbers in (event.mean, event.std))
    return replace(event, sort=SCALE, mean=mean, std=std)


def _saved(trace: Trace, module: int) -> set[str]:
    """The names of the files that get the weights of a module."""
    states = {event.index for event in trace.of(StateTaken) if event.module == module}
    return {
        spelled(event.file)
        for event in trace.of(Saved)
        if not event.buffer and (module in event.modules or event.states & states)
    }


def _loaded(trace: Trace, module: int) -> set[str]:
    """The names of the files that a module may have its weights from, where it surely gets some that were not downloaded."""
    read = [event for event in trace.of(Loaded) if not event.module and not event.buffer]
    gets = any(event.module == module and not event.pretrained for event in trace.of(Loaded))
    known = all(spelled(event.file) or event.told for event in read)
    return {spelled(event.file) for event in read} if gets and known else set()


def compared(noted: Sequence[ModelInput]) -> Iterator[Unlike]:
    """Yield the inputs of scripts that predict, each with one of those that all scripts prepare otherwise that train its model."""
    files: dict[tuple[str, Site], set[str]] = {}
    by_sort: dict[tuple[str, str], list[ModelInput]] = {}
    for each in noted:
        files.setdefault((each.script, each.built), set()).update(each.files)
        by_sort.setdefault((each.model, each.sort), []).append(each)
    training = {each.script for each in noted if each.trains}
    for same in by_sort.values():
        for theirs in same:
            if theirs.script in training or not theirs.how:
                continue
            loaded = files[theirs.script, theirs.built]
            beside = [each for each in same if each.script == theirs.script]
            ours = [each for each in same if each.trains and _may_be_work_of(loaded, files[each.script, each.built])]
            surely = any(_is_work_of(theirs, loaded, files[each.script, each.built]) for each in ours)
            if surely and all(each.how for each in (*beside, *ours)) and _exclude(beside, ours):
                yield Unlike(_event(theirs), _event(ours[0]), None, None, theirs.called, theirs.site)


def _exclude(theirs: Sequence[ModelInput], ours: Sequence[ModelInput]) -> bool:
    """Whether all inputs of a script that predicts are prepared otherwise than all for training; raw ones are of TDR711."""
    evaluated, trained = list(map(_event, theirs)), list(map(_event, ours))
    if evaluated[0].sort == SCALE and any(map(is_raw, (*evaluated, *trained))):
        return False
    return all(excludes(one, other) for one in evaluated for other in trained)


def _is_work_of(predicting: ModelInput, loaded: set[str], saved: set[str]) -> bool:
    """Whether a script loads what another one saves: by the name of the file, or where the user names it, by the class."""
    named = any(_matches(name, other) for name in loaded - {""} for other in saved - {""})
    return named or (predicting.own and bool(loaded and saved) and "" in loaded | saved)


def _may_be_work_of(loaded: set[str], saved: set[str]) -> bool:
    """Whether a script may load what another one saves, which may do so out of sight."""
    return not saved or "" in loaded | saved or any(_matches(name, other) for name in loaded for other in saved)


def _matches(one: str, other: str) -> bool:
    return one == other or ("*" in one + other and (fnmatchcase(one, other) or fnmatchcase(other, one)))


def _event(noted: ModelInput) -> InputPrepared:
    """The input as an event of its script."""
    return InputPrepared(
        site=noted.site,
        scope=Scope(ScopeKind.ROOT, noted.site),
        forward=0,
        sort=noted.sort,
        how=noted.how,
        prepared_at=noted.prepared_at or noted.site,
        mean=noted.mean,
        std=noted.std,
        later=noted.later,
        name=noted.name,
    )
