"""Checkpoints that are read from files."""

from __future__ import annotations

import posixpath
import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from torch_doctor.trace import Escaped, Loaded, Saved
from torch_doctor_rules.judging.sites import first_per_site

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Trace


def read(trace: Trace) -> Iterator[Loaded]:
    """The calls that read a file, each place once; a copy through memory is no file."""
    written = {event.buffer for event in trace.of(Saved) if event.buffer}
    return first_per_site(
        event
        for event in trace.of(Loaded)
        if not (event.module or event.buffer in written or (event.buffer and _given_away(trace, event)))
    )


def spelled(file: str) -> str:
    """The name of a file, with `*` for each part that is not known; "" where nothing tells it from others."""
    name = posixpath.basename(_UNKNOWN.sub("*", file))
    return name if name.partition(".")[0].strip("*") else ""


def is_own(trace: Trace, loaded: Loaded) -> bool:
    """Whether a script of the project saves files of this name, or what is taken of it: then the file is its own work."""
    if loaded.own:
        return True
    path = _UNKNOWN.sub("*", loaded.file)
    name, folder = posixpath.basename(path), posixpath.basename(posixpath.dirname(path))
    if not name.partition(".")[0].strip("*"):
        return bool(folder.strip("*")) and f"{folder}/{name}" in trace.saved()
    return any(fnmatchcase(name, pattern) for pattern in trace.saved())


def goes_on(trace: Trace, loaded: Loaded) -> bool:
    """Whether a checkpoint of the script's own is passed back to it: with the state of an optimizer, as the script saves it."""
    return loaded.resumes or (loaded.resumes is None and any(saved.optimizer for saved in trace.of(Saved)))


def may_be_written(trace: Trace, loaded: Loaded) -> bool:
    """Whether the script itself may have saved the file, or somebody out of sight whom it gave a model.

    A path that the user says leads there only where the script saves under the same one; where it may be one of several,
    the script has saved something before.
    """
    saves = [event for event in trace.of(Saved) if not event.buffer]
    if any(_matches(loaded.file, event.file) for event in saves):
        return True
    if loaded.told:
        return not loaded.file and any(event.index < loaded.index for event in saves)
    somewhere = any(not event.file for event in saves)
    return somewhere or (bool(saves) and not loaded.file) or _given_away(trace, loaded)


def is_read_whole(trace: Trace, saved: Saved) -> bool:
    """Whether a script of the project may read the file that is saved, and use what it holds as it is, not as a state."""
    read_here = (loaded.file for loaded in read(trace) if not loaded.state)
    return any(_may_be_same(file, saved.file) for file in (*read_here, *trace.read_whole()))


def _may_be_same(*files: str) -> bool:
    """Whether nothing in the names of two files tells them apart; their folders may be one, seen from elsewhere."""
    one, other = (posixpath.basename(_UNKNOWN.sub("*", file)) for file in files)
    if any(not file.strip("*") or file.isidentifier() for file in (one, other)) or ("*" in one and "*" in other):
        return True  # an identifier is the name of a variable
    return fnmatchcase(one, other) or fnmatchcase(other, one)


def _given_away(trace: Trace, loaded: Loaded) -> bool:
    """Whether a model, its state or an optimizer escapes before: whoever gets it may save it."""
    escaped = (event for event in trace.of(Escaped) if event.index < loaded.index)
    return any(event.modules or event.optimizers or event.states for event in escaped)


def _matches(file: str, saved: str) -> bool:
    pattern = _UNKNOWN.sub("*", saved)
    return (bool(saved) and file == saved) or (bool(pattern.strip("*")) and fnmatchcase(file, pattern))


_UNKNOWN = re.compile(r"\{[^{}]*\}")
