"""Checkpoints that are read from files."""

from __future__ import annotations

import posixpath
import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from torch_doctor.trace import Loaded, Saved
from torch_doctor_rules.judging.sites import first_per_site

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Trace


def read(trace: Trace) -> Iterator[Loaded]:
    """The calls that read a file, each place once; a copy through memory is no file."""
    written = {event.buffer for event in trace.of(Saved) if event.buffer}
    return first_per_site(event for event in trace.of(Loaded) if not event.module and event.buffer not in written)


def is_own(trace: Trace, loaded: Loaded) -> bool:
    """Whether a script of the project saves files of this name: then the file is its work, and nobody else's."""
    name = posixpath.basename(_UNKNOWN.sub("*", loaded.file))
    return any(fnmatchcase(name, pattern) for pattern in trace.saved()) if name.strip("*") else False


_UNKNOWN = re.compile(r"\{[^{}]*\}")
