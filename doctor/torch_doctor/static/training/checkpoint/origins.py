"""Where the names of files come from: the script itself, its command line, a download."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from torch_doctor.static.knowledge import Knowledge
from torch_doctor.static.language.command_lines import PARSED
from torch_doctor.static.library import Stage, library
from torch_doctor.static.state import per_run
from torch_doctor.static.values import COUNTER, Either, Unknown, texts

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Call, Symbol, Value
    from torch_doctor.trace import Event

_DOWNLOADS = {
    "torch.hub.download_url_to_file": "dst",
    "urllib.request.urlretrieve": "filename",
    "gdown.download": "output",
    "wget.download": "out",
}
"""Functions that put what an address gives into a file, by the name of their second argument: its path."""

_ITEM = 3
"""The parts of the symbol of an item."""


class ReadFiles(Knowledge):
    """What was read from files, by the symbol of what that gave."""

    read: dict[Symbol, Event] = per_run(dict)


def read_by(run: Run) -> dict[Symbol, Event]:
    """What a run has read from files so far, by the symbol of what that gave."""
    return run.of(ReadFiles).read


class Downloads(Knowledge):
    """The paths of the files that were downloaded."""

    paths: set[str] = per_run(set)

    def again(self) -> Downloads:
        """What the top level has downloaded is there when a function runs."""
        return self.copied()


@library(*_DOWNLOADS, stage=Stage.NOTE)
def downloaded(run: Run, name: str, call: Call) -> None:
    """Something is downloaded to a path."""
    run.of(Downloads).paths.update(_fixed(run, call, 1, _DOWNLOADS[name]) or ())


def is_outside(run: Run, call: Call, position: int, name: str) -> bool:
    """Whether a path that is read comes from somewhere else than the script, or what lies there does.

    It does where any of it is no text of the script, where it leads out of the folder, and where the script downloads it, or
    names an address that ends in the same name.
    """
    fixed = _fixed(run, call, position, name)
    if fixed is None:
        return True
    source, known = run.frame.unit.source.text, run.of(Downloads).paths
    return any(
        path in known or path.startswith(("/", "~", "..")) or _address(posixpath.basename(path)).search(source)
        for path in fixed
    )


def path(run: Run, call: Call, position: int, name: str) -> str:
    """Text that is equal for two scripts of a project that read one file; "" where it is not of texts and options alone."""
    value = run.resolve(call.argument(position, name) or Unknown())
    found = [_told(part) for part in texts.parts(value) or ("",)]
    return texts.path(found) if all(found) else ""


def _fixed(run: Run, call: Call, position: int, name: str) -> set[str] | None:
    """The paths that an argument may be, where the script itself says each whole; None where it does not."""
    value = run.resolve(call.argument(position, name) or Unknown())
    options = [option for _, option in value.options] if isinstance(value, Either) else [value]
    found = [texts.parts(option) for option in options]
    if any(parts is None or not all(map(_is_said, parts)) for parts in found):
        return None
    return {texts.path(parts) for parts in found if parts}


def _is_said(part: str | Symbol) -> bool:
    """Whether the script itself says a part of a path."""
    return isinstance(part, str) or part[0] == COUNTER or texts.is_own(part)


def _told(part: str | Symbol) -> str:
    """A part of a path as a command line has it, and which of the project's that is; "" where it is something else."""
    if isinstance(part, str):
        return part
    names = []
    while part[0] == ".":
        names.append(str(part[2]))
        part = part[1]
    return f"{{{'.'.join((str(part[1][-1]), *reversed(names)))}}}" if names and part[0] == PARSED else ""


def _address(name: str) -> re.Pattern[str]:
    """An address that ends in the name of a file."""
    return re.compile(rf"://[^\s\"']*/{re.escape(name)}\b")


def is_read_from(run: Run, value: Value, key: object) -> bool:
    """Whether a value is what a file of the script's has under this key."""
    symbol = value.symbol if isinstance(value, Unknown) else ()
    if len(symbol) < _ITEM or symbol[0] != "[]" or symbol[1] not in run.of(ReadFiles).read:
        return False
    return isinstance(key, tuple) and key[1:] == symbol[2][1:]
