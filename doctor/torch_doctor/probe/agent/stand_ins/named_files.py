"""Names of files that a script looks for in a folder of data that is not there: what reads them makes them up."""

from __future__ import annotations

import functools
import glob
import os
import pathlib
import re
from typing import TYPE_CHECKING, Any

from . import folders, picture_code, told
from .files import TEXTS
from .stand_in import StandIn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

COUNT = 16
WHY = "data not found"
MADE_UP = frozenset((*TEXTS, *".csv .tsv .npy .npz .json .jsonl .pkl .pickle .mat .h5 .hdf5".split()))
"""Suffixes of files that are made up when they are read."""
WRITTEN = ("out", "result", "log", "checkpoint", "ckpt", "save", "model", "weight", "run", "predict")
"""Words in the names of folders that the script itself fills."""


class NamedFiles(StandIn):
    """Answers `glob("data/*.csv")` and its like with names, where there is no such folder."""

    replaces = WHY
    voids = (told.VALUES, told.FILES)
    installed_after = ("PictureFolders",)

    def prepare(self) -> None:
        """Patches what looks for files by a pattern."""
        glob.glob = self._globbing(glob.glob, list)
        glob.iglob = self._globbing(glob.iglob, iter)
        path: Any = pathlib.Path
        path.glob = self._walking(path.glob, "")
        path.rglob = self._walking(path.rglob, "**")

    def _globbing(self, found: Callable[..., Iterable[Any]], form: Callable[[Any], Any]) -> Any:
        @functools.wraps(found)
        def globbed(pathname: Any, *arguments: Any, **keywords: Any) -> Any:
            names = list(found(pathname, *arguments, **keywords))
            if not names and isinstance(pathname, str) and not keywords.get("root_dir"):
                names = self._names(pathname)
            return form(names)

        return globbed

    def _walking(self, found: Callable[..., Iterable[Any]], before: str) -> Any:
        @functools.wraps(found)
        def walked(path: Any, pattern: Any, *arguments: Any, **keywords: Any) -> Any:
            names = list(found(path, pattern, *arguments, **keywords))
            return iter(names or map(type(path), self._names(os.path.join(str(path), before, str(pattern)))))

        return walked

    def _names(self, pattern: str) -> list[str]:
        """The names that a pattern with a suffix stands for; none where the folder is there, or is no folder of data."""
        folder, last = os.path.split(pattern)
        stem, ending = os.path.splitext(last)
        parts = ["train" if "*" in part else part for part in folder.split(os.sep) if part != "**"]
        root = os.sep.join(parts)
        if ending.lower() not in MADE_UP or "*" not in stem or glob.has_magic(stem.replace("*", "")):
            return []
        written = any(word in part.lower() for part in re.split(r"[\\/]", root) for word in WRITTEN)
        there = os.path.isdir(root) and os.path.realpath(root) not in folders.MADE
        if written or there or not picture_code.is_data(root) or not self.sources.called_by_user(3):
            return []
        count = self.learnt.of("count", pattern) or COUNT
        self.tell(pattern, f"{count} names of files")
        return [
            os.path.join(root, stem.replace("*", f"{number:04}", 1).replace("*", "") + ending)
            for number in range(count)
        ]
