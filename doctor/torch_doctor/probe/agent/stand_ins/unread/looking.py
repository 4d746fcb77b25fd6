"""Whether the script looked for files that are not there: what it then says of them is no fault of its own."""

from __future__ import annotations

import functools
import glob
import os
import pathlib
from typing import TYPE_CHECKING, Any

from ..asked_paths import may_be_data
from ..picture_code import is_data

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..source import Sources


MOST = 32  # paths that are noted


class Looking:
    """Notes, in `in_vain`, that the user's code asked for a file or a folder and there was none, or nothing in it.

    Whether it was a folder of data that has nothing to list is noted in `found_no_data` of the sources.
    """

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self.in_vain = False
        owners: tuple[tuple[Any, tuple[str, ...]], ...] = (
            (os, ("listdir", "walk")),
            (os.path, ("exists", "isfile", "isdir")),
            (glob, ("glob",)),
            (pathlib.Path, ("exists", "is_file", "is_dir", "glob", "rglob", "iterdir")),
        )
        for owner, names in owners:
            for name in names:
                setattr(
                    owner,
                    name,
                    self._noting(getattr(owner, name), gives_all="glob" in name or name in ("walk", "iterdir")),
                )

    def _is_datasets(self) -> bool:
        """Whether a method of a data set looks."""
        frame = self._sources.innermost()
        return frame is not None and hasattr(type(frame.f_locals.get("self")), "__getitem__")

    def _sought(self, path: Any) -> None:
        """Notes a file or a folder of data that the user's code asks for, of few."""
        name = str(path) if isinstance(path, (str, os.PathLike)) else ""
        if may_be_data(name) and len(self._sources.sought) < MOST and self._sources.called_by_user(3):
            self._sources.sought[name] = None

    def _noting(self, function: Callable[..., Any], *, gives_all: bool) -> Any:
        lists, listed, walked = os.listdir, glob.glob, os.walk

        @functools.wraps(function)
        def asked(*arguments: Any, **keywords: Any) -> Any:
            answer = function(*arguments, **keywords)
            if answer is False and arguments:
                self._sought(arguments[0])
            if (self.in_vain and self._sources.found_no_data) or not self._sources.called_by_user():
                return answer
            if gives_all:
                answer = list(answer)
            nothing = not any(row[1:] != ([], []) for row in answer) if function is walked else not answer
            self.in_vain |= nothing
            if nothing and (gives_all or function is lists):
                self._sources.found_no_data |= is_data(str(arguments[0])) or self._is_datasets()
            return answer if function is listed or not gives_all else iter(answer)

        return asked
