"""Files that are not there: another form of one, where what stood in for it did not do."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import TYPE_CHECKING

from torch_doctor.probe.lessons.lesson import Lesson

if TYPE_CHECKING:
    from torch_doctor.probe.lessons.lesson import Failure
    from torch_doctor.trace import StandIn

UNREAD = "unread"
MISSING = re.compile(r"No such file or directory: '([^']+)'")
SETTINGS = frozenset({".json", ".yaml", ".yml"})
TABLES = frozenset({".csv", ".tsv"})
BINARY = frozenset(
    {
        *(
            ".pkl",
            ".pickle",
            ".bin",
            ".npy",
            ".npz",
            ".h5",
            ".hdf5",
            ".mat",
            ".pt",
            ".pth",
            ".ckpt",
            ".zip",
            ".gz",
            ".tar",
        ),
        *(
            ".tgz",
            ".png",
            ".jpg",
            ".jpeg",
            ".bmp",
            ".tif",
            ".tiff",
            ".gif",
            ".wav",
            ".flac",
            ".mp3",
            ".mp4",
            ".parquet",
        ),
    }
)
WORDS = {
    "settings": "settings with the keys read by the script",
    "table": "a table with the columns read by the script",
    "text": "lines of synthetic text",
    UNREAD: "placeholder values inferred from their use",
}


def read(failure: Failure) -> Lesson | None:
    """The next form of a file that was not tried, of the file first that the line that failed reads."""
    for stand_in in failure.guessed():
        path = _path(stand_in)
        form = _form(stand_in, path, failure.at(stand_in)) if path else ""
        if form and not failure.knows("file", path):
            return Lesson("file", path, form, f"`{path}` holds {WORDS[form]}")
    return None


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
    return "text" if suffix not in BINARY and "open" in line else ""
