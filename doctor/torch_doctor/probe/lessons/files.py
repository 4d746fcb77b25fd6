"""Files that are not there: another form of one, where what stood in for it did not do."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import TYPE_CHECKING

from torch_doctor.probe.lessons.lesson import Lesson

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.probe.lessons.lesson import Failure
    from torch_doctor.trace import StandIn

UNREAD = "unread"
MISSING = re.compile(r"No such file or directory: '([^']+)'")
SETTINGS = frozenset({".json", ".yaml", ".yml"})
TABLES = frozenset({".csv", ".tsv"})
BINARY = re.compile(
    r"\.(pkl|pickle|bin|np[yz]|h(df)?5|mat|pth?|ckpt|zip|gz|tar|tgz|png|jpe?g|bmp|tiff?|gif|wav|flac|mp[34]|parquet|lmdb|mdb)"
)
WORDS = {
    "settings": "settings with the keys read by the script",
    "table": "a table with the columns read by the script",
    "text": "lines of synthetic text",
    UNREAD: "placeholder values inferred from their use",
}


def read(failure: Failure) -> Lesson | None:
    """The next form of a file that was not tried, of the file first that the line that failed reads."""
    return next(_forms(failure), None) or _weights(failure)


def settings(failure: Failure) -> list[Lesson]:
    """All files of settings or records that were not taken for such so far."""
    return [each for each in _forms(failure) if each.value == "settings"]


def _forms(failure: Failure) -> Iterator[Lesson]:
    for stand_in in failure.guessed():
        path = _path(stand_in)
        form = _form(stand_in, path, failure.at(stand_in)) if path else ""
        if form and not failure.knows("file", path):
            yield Lesson("file", path, form, f"`{path}` holds {WORDS[form]}")


def _weights(failure: Failure) -> Lesson | None:
    """A checkpoint that is read, and of which the script does not say at once that it is one."""
    found = MISSING.search(failure.words)
    if found is None or not failure.is_a("FileNotFoundError") or "torch.load(" not in failure.line:
        return None
    return Lesson("file", found[1], "weights", f"`{found[1]}` is a checkpoint without weights")


def _path(stand_in: StandIn) -> str:
    """The file that a substitute is there for."""
    found = MISSING.search(stand_in.why)
    if found is not None:
        return found[1]
    return stand_in.what if stand_in.why in ("file not found", "table not found") else ""


def _form(stand_in: StandIn, path: str, line: str) -> str:
    """Another form than the one that it had; `line` is where it is read."""
    suffix = PurePath(path).suffix.lower()
    if not MISSING.search(stand_in.why):
        return UNREAD  # it was made up by its name
    if suffix in SETTINGS:
        return "settings"
    if suffix in TABLES:
        return "table"
    return "text" if not BINARY.fullmatch(suffix) and "open" in line and "rb" not in line else ""
