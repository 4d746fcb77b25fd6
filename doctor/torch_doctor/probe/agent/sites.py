"""Which code is the user's, and where in it something happens."""

from __future__ import annotations

import os
import sys
import tokenize
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from types import CodeType, FrameType

    from .channel import Channel

INSTALLED = ("site-packages", "dist-packages", "node_modules")
AGENT = os.path.dirname(__file__)
EXACT = sys.version_info >= (3, 11)
"""Whether instructions know their columns (https://peps.python.org/pep-0657)."""


class Span(NamedTuple):
    """A stretch of a file as Python counts: rows from 1, columns in bytes from 0, -1 where not known."""

    path: str
    row: int
    column: int
    end_row: int
    end_column: int


class Sites:
    """The user's files and the places in them, each with the number under which it was written."""

    def __init__(self, project: str, script: str, channel: Channel) -> None:
        self.project = os.path.realpath(project)
        self.script = script
        self._script = os.path.realpath(script)
        self._channel = channel
        self._own: dict[str, bool] = {}
        self._folders: dict[str, str] = {}
        self._real: dict[str, str] = {}
        self._numbers: dict[Span, int] = {}
        self._at: dict[int, dict[int, int]] = {}
        self._positions: dict[int, tuple[CodeType, list[Any]]] = {}
        self._lines: dict[str, list[str]] = {}
        self.spans: list[Span] = []

    # --- files ---

    def is_agents(self, path: str) -> bool:
        """Whether code from `path` is the probe's own."""
        return path.startswith(AGENT)

    def is_users(self, path: str) -> bool:
        """Whether code from `path` is the user's: below the project, and nothing installed."""
        known = self._own.get(path)
        if known is None:
            whole = self._whole(path)
            below = whole == self._script or whole.startswith(self.project + os.sep)
            installed = any(part in INSTALLED for part in whole.split(os.sep)) or whole.startswith(AGENT)
            known = below and not installed and not path.startswith("<")
            self._own[path] = known
        return known

    def _whole(self, path: str) -> str:
        """What `realpath` gives, which looks at every folder on the way: here each is looked at once."""
        if not os.path.isabs(path) or path != os.path.normpath(path):
            return os.path.realpath(path)
        folder, name = os.path.split(path)
        whole = os.path.join(self._folder(folder), name)
        return os.path.realpath(whole) if os.path.islink(whole) else whole

    def _folder(self, path: str) -> str:
        if path not in self._folders:
            self._folders[path] = path if os.path.dirname(path) == path else self._whole(path)
        return self._folders[path]

    def lines(self, path: str) -> list[str]:
        """The lines of a file, without their ends; none where it cannot be read."""
        if path not in self._lines:
            try:
                with tokenize.open(path) as file:
                    self._lines[path] = file.read().split("\n")
            except (OSError, SyntaxError, ValueError):
                self._lines[path] = []
        return self._lines[path]

    def read(self, path: str, text: str) -> None:
        """Remembers the text of a file that was read for another reason."""
        self._lines[path] = text.split("\n")

    # --- frames ---

    def frame(self, depth: int = 1) -> FrameType | None:
        """The innermost frame of the user's that is running; `depth` frames above the caller at least."""
        frame: FrameType | None = sys._getframe(depth)
        own = self._own
        while frame is not None:
            path = frame.f_code.co_filename
            if own[path] if path in own else self.is_users(path):
                return frame
            frame = frame.f_back
        return None

    def position(self, frame: FrameType) -> tuple[int, int, int, int]:
        """Row, column, last row and its end of what the frame runs; columns in bytes from 0, -1 where not known."""
        code = frame.f_code
        if not EXACT:
            return frame.f_lineno, -1, frame.f_lineno, -1
        known = self._positions.get(id(code))
        if known is None:
            known = self._positions[id(code)] = (code, list(code.co_positions()))  # type: ignore[attr-defined, unused-ignore]
        row, end_row, column, end_column = known[1][max(frame.f_lasti, 0) // 2]
        if row is None:
            row = frame.f_lineno or code.co_firstlineno
        if column is None or end_column is None:
            return row, -1, end_row or row, -1
        return row, column, end_row or row, end_column

    def of_frame(self, frame: FrameType) -> int:
        """The number of the place that the frame runs."""
        code = frame.f_code
        key = frame.f_lasti if EXACT else frame.f_lineno
        known = self._at.get(id(code))
        if known is None:
            self._positions.setdefault(id(code), (code, list(code.co_positions()) if EXACT else []))  # type: ignore[attr-defined, unused-ignore]
            known = self._at[id(code)] = {}
        number = known.get(key)
        if number is None:
            row, column, end_row, end_column = self.position(frame)
            number = known[key] = self.number(Span(code.co_filename, row, column, end_row, end_column))
        return number

    # --- numbers ---

    def number(self, span: Span) -> int:
        """The number of a place, which is written when it is new."""
        number = self._numbers.get(span)
        if number is None:
            number = self._numbers[span] = len(self.spans)
            self.spans.append(span)
            self._channel.write(t="site", id=number, at=self._as_written(span))
        return number

    def _as_written(self, span: Span) -> list[Any]:
        lines = self.lines(span.path)
        if span.path not in self._real:
            self._real[span.path] = self._whole(span.path)
        path = self._real[span.path]
        first = lines[span.row - 1] if 0 < span.row <= len(lines) else ""
        last = lines[span.end_row - 1] if 0 < span.end_row <= len(lines) else ""
        if span.column < 0 or span.end_column < 0:
            return [path, span.row, 1, span.end_row, len(last.rstrip()) + 1]
        return [path, span.row, _points(first, span.column) + 1, span.end_row, _points(last, span.end_column) + 1]

    def whole_line(self, path: str, row: int) -> int:
        """The number of a whole line."""
        return self.number(Span(path, row, -1, row, -1))


def _points(line: str, column: int) -> int:
    """How many code points the first `column` bytes of the line are."""
    if line.isascii():
        return column
    return len(line.encode("utf-8", "surrogatepass")[:column].decode("utf-8", "ignore"))
