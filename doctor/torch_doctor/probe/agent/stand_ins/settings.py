"""Configuration files that are not there: what they hold grows by what the user's code reads of it."""

from __future__ import annotations

import functools
import json
import sys
from typing import TYPE_CHECKING, Any

from ..imports import after
from . import picture_code, told
from .arguments.values import number, untyped
from .forms import LIST, MAPPING, NUMBER, RECORDS, TEXT, form_of, form_of_read, unpacked_into
from .source import AGENT
from .stand_in import Setting, StandIn
from .tables import Tables

if TYPE_CHECKING:
    from types import FrameType, ModuleType

MARK, ROW = "torch-doctor settings", "row"
LOADERS = ("load", "safe_load", "full_load", "unsafe_load")
ROWS, PARTS, CORNERS = 64, 2, 4  # records of a file, values of a list, and those of a box

OF_RECORDS = (told.FILES, told.VALUES, told.SHAPES, told.ARGUMENTS)
"""What is unknown of data: no option of the script is in it."""


def marked(path: str) -> str:
    """The text of a file that stands for settings, for JSON and YAML alike."""
    return json.dumps({MARK: path})


def lines(path: str) -> str:
    """The text of a file that stands for records, each in a line of its own."""
    return "".join(json.dumps({MARK: f"{path}[]", ROW: number}) + "\n" for number in range(ROWS))


class SettingsFiles(StandIn):
    """Has what is read from such files be settings that grow."""

    replaces = "in a file not found"
    voids = (told.FILES, told.VALUES, told.SHAPES, told.ARGUMENTS, told.CHOICES)

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self._columns = Tables(self.sources, self.teller, self.learnt)

    def prepare(self) -> None:
        """Patches what reads JSON; and YAML, in an attempt that has learnt of such a file."""
        decoder: Any = json.JSONDecoder
        decoder.decode = self._reading(decoder.decode)
        if any(form == "settings" for form in self.learnt.looked("file")):
            after("yaml", self._patch)

    def _patch(self, module: ModuleType) -> None:
        yaml: Any = module
        for name in LOADERS:
            setattr(yaml, name, self._reading(getattr(yaml, name)))

    def _reading(self, read: Any) -> Any:
        @functools.wraps(read)
        def reading(*arguments: Any, **keywords: Any) -> Any:
            content = read(*arguments, **keywords)
            if type(content) is not dict or MARK not in content:
                return content
            if ROW in content:
                return Settings(self, content[MARK], content[ROW])
            if form_of_read(self.sources, self.sources.innermost()) in (LIST, RECORDS):
                return self._records(content[MARK])
            return Settings(self, content[MARK])

        return reading

    def _records(self, path: str) -> list[Settings]:
        self.tell(f"{path}[]", f"{ROWS} records with the keys read by the script", voids=OF_RECORDS)
        return [Settings(self, f"{path}[]", number) for number in range(ROWS)]

    def grown(self, path: str, key: str, frame: FrameType | None, row: int | None) -> Any:
        """What the settings at a path hold under a key, by what the code does with it; in a record, by its number, too."""
        whole = f"{path}.{key}"
        form = self.learnt.of("form", whole) or form_of(self.sources, frame, key)
        if form == MAPPING:
            return Settings(self, whole, row)
        if form == RECORDS:
            return self._records(whole)
        if form == LIST:
            count = unpacked_into(self.sources, frame) or (CORNERS if "box" in key.lower() else PARTS)
            value: Any = [number(key.removesuffix("s"))] * count
        elif row is not None:
            value = row if key.lower().endswith("id") else self._columns.drawn(key)[row]
            if form == TEXT and not isinstance(value, str):
                value = f"{key}_{row:04}{picture_code.suffix(self.sources)}"  # most are paths
        else:
            value = str(number(key)) if form == NUMBER else untyped(key, self.sources)
            if form != TEXT:
                value = int(value) if value.isdecimal() else float(value) if _is_float(value) else value
        if row is not None:
            self.tell(whole, "a placeholder value", voids=OF_RECORDS)
        else:
            self.tell(whole, repr(value))
        return value


class Settings(dict[str, Any]):
    """Settings whose keys are there when they are asked for."""

    def __init__(self, files: SettingsFiles, path: str, row: int | None = None) -> None:
        super().__init__()
        self._files = files
        self._path = path
        self._row = row
        learnt = files.learnt.of("columns", path) or ()
        for key in learnt:
            self[key] = files.grown(path, key, None, row)

    def __missing__(self, key: Any) -> Any:
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename.startswith(AGENT):
            frame = frame.f_back
        self[key] = value = self._files.grown(self._path, str(key), frame, self._row)
        return value

    def get(self, key: Any, default: Any = None) -> Any:
        """What is under a key; what is given instead where that is something."""
        return self[key] if default is None or key in self else default

    def __reduce__(self) -> Any:
        return dict, (dict(self),)

    def __deepcopy__(self, _: Any) -> Settings:
        return self


def _is_float(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
